import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;

/** How peers in Java are driven: see benchmarks/peers/protocol.py. */
final class Harness {
    static final ObjectMapper JSON = new ObjectMapper();

    /** One engine. */
    interface Peer<E> {
        String version();

        void add(String id, String rule) throws Exception;

        /** All rules are there. */
        default void ready() throws Exception {}

        E parse(String line) throws Exception;

        Collection<String> match(E event) throws Exception;

        /** JSON text in; by way of `parse` unless the engine has its own. */
        default Collection<String> matchText(String line) throws Exception {
            return match(parse(line));
        }

        /** Many at once: how many matches; below zero where there is no such way. */
        default long matchAll(List<E> events) throws Exception {
            return -1;
        }
    }

    interface Action {
        void run(int place) throws Exception;
    }

    static long sink; // what is found is used, so that nobody leaves it out

    static <E> void drive(Peer<E> peer, Path folder) throws Exception {
        JsonNode asked = JSON.readTree(folder.resolve("case.json").toFile());
        List<String> rules = Files.readAllLines(folder.resolve("rules.tsv"));
        List<String> lines = Files.readAllLines(folder.resolve("events.jsonl"));
        double buildS = asked.get("build_s").asDouble(), matchS = asked.get("match_s").asDouble();
        ObjectNode figures = JSON.createObjectNode().put("version", peer.version());
        long before = used();
        long begin = System.nanoTime();
        for (String line : rules) {
            int tab = line.indexOf('\t');
            peer.add(line.substring(0, tab), line.substring(tab + 1));
            if ((System.nanoTime() - begin) / 1e9 > buildS) {
                write(folder, figures.put("failed", String.format("building is not done after %.0f s", buildS)));
                return;
            }
        }
        peer.ready();
        figures.put("build_s", (System.nanoTime() - begin) / 1e9);
        figures.put("bytes", Math.max(0, used() - before));
        figures.put("checked", matches(peer, folder, lines, asked.get("checked").asInt(), 2 * matchS));
        List<E> events = new ArrayList<>();
        for (String line : lines) {
            events.add(peer.parse(line));
        }
        repeat(figures, "parsed", lines.size(), matchS, place -> sink += peer.match(events.get(place)).size());
        repeat(figures, "text", lines.size(), matchS, place -> sink += peer.matchText(lines.get(place)).size());
        batches(peer, figures, events, lines, matchS);
        write(folder, figures);
        System.exit(0);
    }

    private static <E> int matches(Peer<E> peer, Path folder, List<String> lines, int checked, double limitS)
            throws Exception {
        long begin = System.nanoTime();
        int number = 0;
        try (BufferedWriter out = Files.newBufferedWriter(folder.resolve("matches.tsv"))) {
            for (; number < Math.min(checked, lines.size()); number++) {
                if (number > 0 && (System.nanoTime() - begin) / 1e9 > limitS) {
                    break;
                }
                out.write(number + "\t" + String.join(" ", peer.matchText(lines.get(number))) + "\n");
            }
        }
        return number;
    }

    /** Events a second, and p50 and p99 of one; the first round lets the virtual machine compile. */
    private static void repeat(ObjectNode figures, String way, int items, double budgetS, Action action)
            throws Exception {
        long[] took = new long[1 << 16];
        int size = 0;
        long total = 0;
        for (double seconds : new double[] {budgetS, budgetS}) {
            size = 0;
            total = 0;
            long end = System.nanoTime() + (long) (seconds * 1e9);
            for (int place = 0; size == 0 || System.nanoTime() < end; place = place + 1 < items ? place + 1 : 0) {
                long begin = System.nanoTime();
                action.run(place);
                long spent = System.nanoTime() - begin;
                if (size == took.length) {
                    took = Arrays.copyOf(took, 2 * size);
                }
                took[size++] = spent;
                total += spent;
            }
        }
        Arrays.sort(took, 0, size);
        figures.put(way + "_per_s", 1e9 * size / total);
        ArrayNode both = figures.putArray(way + "_us");
        both.add(took[(size - 1) / 2] / 1e3).add(took[(int) ((size - 1) * 0.99)] / 1e3);
    }

    private static <E> void batches(Peer<E> peer, ObjectNode figures, List<E> events, List<String> lines, double budgetS)
            throws Exception {
        // As many at once as fit into the time by what one of them took: a slow engine ends as well.
        double oneS = figures.get("parsed_us").get(0).asDouble() / 1e6;
        int step = (int) Math.max(1, Math.min(256, budgetS / oneS));
        if (peer.matchAll(events.subList(0, Math.min(step, events.size()))) < 0) {
            return;
        }
        for (boolean text : new boolean[] {false, true}) {
            long done = 0, begin = System.nanoTime();
            for (int at = 0; done == 0 || (System.nanoTime() - begin) / 1e9 < budgetS; at = (at + step) % lines.size()) {
                int end = Math.min(at + step, lines.size());
                List<E> some = text ? new ArrayList<>() : events.subList(at, end);
                for (int place = at; text && place < end; place++) {
                    some.add(peer.parse(lines.get(place)));
                }
                sink += peer.matchAll(some);
                done += end - at;
                at = end == lines.size() ? -step : at;
            }
            figures.put(text ? "text_per_s" : "parsed_per_s", done / ((System.nanoTime() - begin) / 1e9));
        }
    }

    private static long used() {
        for (int times = 0; times < 3; times++) {
            System.gc();
        }
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    private static void write(Path folder, ObjectNode figures) throws Exception {
        JSON.writeValue(folder.resolve("figures.json").toFile(), figures);
    }
}
