import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.lucene.analysis.core.KeywordAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.DoublePoint;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.LongPoint;
import org.apache.lucene.document.StringField;
import org.apache.lucene.index.Term;
import org.apache.lucene.monitor.MatchingQueries;
import org.apache.lucene.monitor.Monitor;
import org.apache.lucene.monitor.MonitorConfiguration;
import org.apache.lucene.monitor.MonitorQuery;
import org.apache.lucene.monitor.MultiMatchingQueries;
import org.apache.lucene.monitor.QueryMatch;
import org.apache.lucene.search.BooleanClause.Occur;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.MatchAllDocsQuery;
import org.apache.lucene.search.PrefixQuery;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.TermInSetQuery;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.WildcardQuery;
import org.apache.lucene.util.BytesRef;

/** lucene-monitor: rules are queries, events are documents; "there" holds the names of the fields an event has. */
final class LuceneMonitorDriver implements Harness.Peer<Document> {
    private static final int AT_ONCE = 5_000;
    private final Monitor monitor;
    private final JsonNode kinds;
    private final List<MonitorQuery> waiting = new ArrayList<>();

    LuceneMonitorDriver(JsonNode kinds) throws Exception {
        this.kinds = kinds;
        MonitorConfiguration configuration = new MonitorConfiguration().setQueryUpdateBufferSize(AT_ONCE);
        configuration.setPurgeFrequency(1, java.util.concurrent.TimeUnit.HOURS);
        monitor = new Monitor(new KeywordAnalyzer(), configuration);
    }

    @Override
    public String version() {
        return org.apache.lucene.util.Version.LATEST.toString();
    }

    @Override
    public void add(String id, String rule) throws Exception {
        waiting.add(new MonitorQuery(id, query(Harness.JSON.readTree(rule))));
        if (waiting.size() == AT_ONCE) {
            ready();
        }
    }

    @Override
    public void ready() throws Exception {
        monitor.register(waiting);
        waiting.clear();
    }

    private Query query(JsonNode rule) {
        BooleanQuery.Builder made = new BooleanQuery.Builder();
        if (rule.has("all")) {
            if (rule.get("all").isEmpty()) {
                return new MatchAllDocsQuery();
            }
            rule.get("all").forEach(part -> made.add(query(part), Occur.MUST));
            return made.build();
        }
        if (rule.has("any")) {
            rule.get("any").forEach(part -> made.add(query(part), Occur.SHOULD));
            return made.build();
        }
        if (rule.has("not")) {
            JsonNode test = rule.get("not");
            if (test.get("op").asText().equals("null")) {
                return there(test);
            }
            return made.add(there(test), Occur.MUST).add(test(test), Occur.MUST_NOT).build();
        }
        return test(rule);
    }

    private static Query there(JsonNode test) {
        return new TermQuery(new Term("there", test.get("field").asText()));
    }

    private static Query test(JsonNode test) {
        String field = test.get("field").asText(), op = test.get("op").asText(), kind = test.get("kind").asText();
        JsonNode value = test.get("value");
        if (op.equals("null")) {
            return new BooleanQuery.Builder()
                    .add(new MatchAllDocsQuery(), Occur.MUST)
                    .add(there(test), Occur.MUST_NOT)
                    .build();
        }
        if (kind.equals("int")) {
            return integers(field, op, value);
        }
        if (kind.equals("float")) {
            return floats(field, op, value);
        }
        switch (op) {
            case "in":
                List<BytesRef> words = new ArrayList<>();
                value.forEach(one -> words.add(new BytesRef(one.asText())));
                return new TermInSetQuery(field, words);
            case "startswith":
                return new PrefixQuery(new Term(field, value.asText()));
            case "endswith":
                return new WildcardQuery(new Term(field, "*" + plain(value.asText())));
            case "contains":
                return new WildcardQuery(new Term(field, "*" + plain(value.asText()) + "*"));
            case "like":
                List<String> pieces = new ArrayList<>();
                value.forEach(one -> pieces.add(plain(one.asText())));
                return new WildcardQuery(new Term(field, String.join("*", pieces)));
            default:
                return new TermQuery(new Term(field, value.asText()));
        }
    }

    private static String plain(String text) {
        return text.replace("\\", "\\\\").replace("*", "\\*").replace("?", "\\?");
    }

    private static Query integers(String field, String op, JsonNode value) {
        switch (op) {
            case "in":
                List<Long> numbers = new ArrayList<>();
                value.forEach(one -> numbers.add(one.asLong()));
                return LongPoint.newSetQuery(field, numbers);
            case "between":
                return LongPoint.newRangeQuery(field, value.get(0).asLong(), value.get(1).asLong());
            case "<":
                return LongPoint.newRangeQuery(field, Long.MIN_VALUE, value.asLong() - 1);
            case "<=":
                return LongPoint.newRangeQuery(field, Long.MIN_VALUE, value.asLong());
            case ">":
                return LongPoint.newRangeQuery(field, value.asLong() + 1, Long.MAX_VALUE);
            case ">=":
                return LongPoint.newRangeQuery(field, value.asLong(), Long.MAX_VALUE);
            default:
                return LongPoint.newExactQuery(field, value.asLong());
        }
    }

    private static Query floats(String field, String op, JsonNode value) {
        double low = Double.NEGATIVE_INFINITY, high = Double.POSITIVE_INFINITY;
        switch (op) {
            case "between":
                return DoublePoint.newRangeQuery(field, value.get(0).asDouble(), value.get(1).asDouble());
            case "<":
                return DoublePoint.newRangeQuery(field, low, DoublePoint.nextDown(value.asDouble()));
            case "<=":
                return DoublePoint.newRangeQuery(field, low, value.asDouble());
            case ">":
                return DoublePoint.newRangeQuery(field, DoublePoint.nextUp(value.asDouble()), high);
            case ">=":
                return DoublePoint.newRangeQuery(field, value.asDouble(), high);
            default:
                return DoublePoint.newExactQuery(field, value.asDouble());
        }
    }

    @Override
    public Document parse(String line) throws Exception {
        Document document = new Document();
        Iterator<Map.Entry<String, JsonNode>> fields = Harness.JSON.readTree(line).fields();
        while (fields.hasNext()) {
            Map.Entry<String, JsonNode> one = fields.next();
            String field = one.getKey();
            JsonNode value = one.getValue();
            if (value.isNull() || !kinds.has(field)) {
                continue;
            }
            document.add(new StringField("there", field, Field.Store.NO));
            switch (kinds.get(field).asText()) {
                case "int" -> document.add(new LongPoint(field, value.asLong()));
                case "float" -> document.add(new DoublePoint(field, value.asDouble()));
                case "strings" -> value.forEach(word -> document.add(new StringField(field, word.asText(), Field.Store.NO)));
                default -> document.add(new StringField(field, value.asText(), Field.Store.NO));
            }
        }
        return document;
    }

    @Override
    public Collection<String> match(Document event) throws Exception {
        MatchingQueries<QueryMatch> found = monitor.match(event, QueryMatch.SIMPLE_MATCHER);
        List<String> ids = new ArrayList<>(found.getMatchCount());
        for (QueryMatch one : found.getMatches()) {
            ids.add(one.getQueryId());
        }
        return ids;
    }

    @Override
    public long matchAll(List<Document> events) throws Exception {
        MultiMatchingQueries<QueryMatch> found =
                monitor.match(events.toArray(new Document[0]), QueryMatch.SIMPLE_MATCHER);
        long count = 0;
        for (int place = 0; place < events.size(); place++) {
            count += found.getMatchCount(place);
        }
        return count;
    }

    public static void main(String[] arguments) throws Exception {
        Path folder = Path.of(arguments[0]);
        JsonNode kinds = Harness.JSON.readTree(folder.resolve("case.json").toFile()).get("kinds");
        Harness.drive(new LuceneMonitorDriver(kinds), folder);
    }
}
