import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.functions.PatternProcessFunction;
import org.apache.flink.cep.nfa.aftermatch.AfterMatchSkipStrategy;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.SinkFunction;
import org.apache.flink.util.Collector;

/** Flink CEP: one operator for each pattern in one local job, which is how several patterns are run there. */
@SuppressWarnings("deprecation")
public final class FlinkCepDriver {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final List<Tuple2<Integer, Long>> FOUND = Collections.synchronizedList(new ArrayList<>());

    /** (user, kind, number) of an event; user and kind come from its line. */
    private static final class Parse implements MapFunction<Tuple2<Long, String>, Tuple3<Long, Long, Long>> {
        @Override
        public Tuple3<Long, Long, Long> map(Tuple2<Long, String> line) throws Exception {
            JsonNode said = JSON.readTree(line.f1);
            return Tuple3.of(said.get("user").asLong(), said.get("kind").asLong(), line.f0);
        }
    }

    /** The same of lines that are two numbers, which stands for events that are parsed already. */
    private static final class Split implements MapFunction<Tuple2<Long, String>, Tuple3<Long, Long, Long>> {
        @Override
        public Tuple3<Long, Long, Long> map(Tuple2<Long, String> line) {
            return Tuple3.of((long) line.f1.charAt(0), (long) line.f1.charAt(1), line.f0);
        }
    }

    private static final class Is extends SimpleCondition<Tuple3<Long, Long, Long>> implements Serializable {
        private final long kind;

        Is(long kind) {
            this.kind = kind;
        }

        @Override
        public boolean filter(Tuple3<Long, Long, Long> event) {
            return event.f1 == kind;
        }
    }

    private static final class Completed extends PatternProcessFunction<Tuple3<Long, Long, Long>, Tuple2<Integer, Long>> {
        private final int id;
        private final String last;

        Completed(int id, String last) {
            this.id = id;
            this.last = last;
        }

        @Override
        public void processMatch(
                Map<String, List<Tuple3<Long, Long, Long>>> match, Context context, Collector<Tuple2<Integer, Long>> out) {
            out.collect(Tuple2.of(id, match.get(last).get(0).f2));
        }
    }

    private static final class Keep implements SinkFunction<Tuple2<Integer, Long>> {
        @Override
        public void invoke(Tuple2<Integer, Long> found, Context context) {
            FOUND.add(found);
        }
    }

    /** Seconds from the first event to the end of the job. */
    private static double run(List<String> rules, Rounds rounds, boolean text) throws Exception {
        FOUND.clear();
        Configuration settings = new Configuration();
        settings.setString("taskmanager.memory.network.min", "512mb");
        settings.setString("taskmanager.memory.network.max", "512mb");
        StreamExecutionEnvironment job = StreamExecutionEnvironment.createLocalEnvironment(1, settings);
        job.getConfig().enableObjectReuse();
        KeyedStream<Tuple3<Long, Long, Long>, Long> events = job.addSource(rounds, Types.TUPLE(Types.LONG, Types.STRING))
                .map(text ? new Parse() : new Split())
                .returns(Types.TUPLE(Types.LONG, Types.LONG, Types.LONG))
                .keyBy(event -> event.f0, Types.LONG);
        DataStream<Tuple2<Integer, Long>> all = null;
        for (String line : rules) {
            int tab = line.indexOf('\t');
            DataStream<Tuple2<Integer, Long>> one =
                    completed(events, Integer.parseInt(line.substring(0, tab)), JSON.readTree(line.substring(tab + 1)));
            all = all == null ? one : all.union(one);
        }
        all.addSink(new Keep());
        job.execute();
        return (System.nanoTime() - Rounds.began) / 1e9;
    }

    private static DataStream<Tuple2<Integer, Long>> completed(
            KeyedStream<Tuple3<Long, Long, Long>, Long> events, int id, JsonNode rule) {
        JsonNode kinds = rule.get("kinds");
        boolean loose = !rule.get("window_ms").isNull();
        Pattern<Tuple3<Long, Long, Long>, Tuple3<Long, Long, Long>> pattern =
                Pattern.<Tuple3<Long, Long, Long>>begin("0", AfterMatchSkipStrategy.noSkip())
                        .where(new Is(kinds.get(0).asLong()));
        for (int step = 1; step < kinds.size(); step++) {
            String name = Integer.toString(step);
            pattern = (loose ? pattern.followedByAny(name) : pattern.next(name)).where(new Is(kinds.get(step).asLong()));
        }
        if (loose) {
            pattern = pattern.within(Duration.ofMillis(rule.get("window_ms").asLong()));
        }
        return CEP.pattern(events, pattern)
                .process(new Completed(id, Integer.toString(kinds.size() - 1)), Types.TUPLE(Types.INT, Types.LONG));
    }

    public static void main(String[] arguments) throws Exception {
        Path folder = Path.of(arguments[0]);
        JsonNode asked = JSON.readTree(folder.resolve("case.json").toFile());
        List<String> rules = Files.readAllLines(folder.resolve("rules.tsv"));
        List<String> lines = Files.readAllLines(folder.resolve("events.jsonl"));
        List<String> parsed = new ArrayList<>();
        for (String line : lines) {
            JsonNode said = JSON.readTree(line);
            parsed.add("" + (char) said.get("user").asInt() + (char) said.get("kind").asInt());
        }
        double matchS = asked.get("match_s").asDouble();
        ObjectNode figures = JSON.createObjectNode().put("version", "1.20.0");
        long begin = System.nanoTime();
        run(rules, new Rounds(lines, Math.min(asked.get("checked").asInt(), lines.size()), 2 * matchS), true);
        figures.put("build_s", (Rounds.began - begin) / 1e9);
        figures.put("checked", Rounds.sent);
        write(folder, Rounds.sent);
        run(rules, new Rounds(lines, Long.MAX_VALUE, matchS), true); // lets the virtual machine compile
        for (boolean text : new boolean[] {false, true}) {
            double took = run(rules, new Rounds(text ? lines : parsed, Long.MAX_VALUE, matchS), text);
            figures.put(text ? "text_per_s" : "parsed_per_s", Rounds.sent / took);
        }
        figures.putArray("notes").add("one operator for each pattern; building is the start of a job, its figures are of"
                + " a job from its first event to its end, and it has no way for one event");
        JSON.writeValue(folder.resolve("figures.json").toFile(), figures);
        System.exit(0);
    }

    private static void write(Path folder, long events) throws Exception {
        Map<Long, TreeSet<Integer>> ids = new TreeMap<>();
        for (Tuple2<Integer, Long> one : FOUND) {
            ids.computeIfAbsent(one.f1, key -> new TreeSet<>()).add(one.f0);
        }
        StringBuilder out = new StringBuilder();
        for (long number = 0; number < events; number++) {
            out.append(number).append('\t');
            for (int id : ids.getOrDefault(number, new TreeSet<>())) {
                out.append(id).append(' ');
            }
            out.append('\n');
        }
        Files.writeString(folder.resolve("matches.tsv"), out);
    }
}
