import java.util.List;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.functions.source.SourceFunction;
import org.apache.flink.streaming.api.watermark.Watermark;

/** Lines in their order, round and round, their times moved on, until enough were sent or the time is up. */
@SuppressWarnings("deprecation")
final class Rounds implements SourceFunction<Tuple2<Long, String>> {
    private static final int BETWEEN_WATERMARKS = 100;

    static volatile long began; // nanoseconds; a job runs in this process
    static volatile long sent;

    private final List<String> lines;
    private final long most;
    private final double seconds;

    Rounds(List<String> lines, long most, double seconds) {
        this.lines = lines;
        this.most = most;
        this.seconds = seconds;
    }

    @Override
    public void run(SourceContext<Tuple2<Long, String>> context) {
        began = System.nanoTime();
        long number = 0;
        while (number < most && (number == 0 || (System.nanoTime() - began) / 1e9 < seconds)) {
            context.collectWithTimestamp(Tuple2.of(number, lines.get((int) (number % lines.size()))), 1000 * number);
            if (number % BETWEEN_WATERMARKS == 0) {
                context.emitWatermark(new Watermark(1000 * number));
            }
            number++;
        }
        sent = number;
    }

    @Override
    public void cancel() {}
}
