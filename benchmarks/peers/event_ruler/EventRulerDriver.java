import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Path;
import java.util.Collection;
import software.amazon.event.ruler.Machine;

/** event-ruler: JSON texts, or trees of Jackson. */
final class EventRulerDriver implements Harness.Peer<JsonNode> {
    private final Machine machine = new Machine();

    @Override
    public String version() {
        return "2.1.0";
    }

    @Override
    public void add(String id, String rule) throws Exception {
        machine.addRule(id, rule);
    }

    @Override
    public JsonNode parse(String line) throws Exception {
        return Harness.JSON.readTree(line);
    }

    @Override
    public Collection<String> match(JsonNode event) {
        return machine.rulesForJSONEvent(event);
    }

    @Override
    public Collection<String> matchText(String line) throws Exception {
        return machine.rulesForJSONEvent(line);
    }

    public static void main(String[] arguments) throws Exception {
        Harness.drive(new EventRulerDriver(), Path.of(arguments[0]));
    }
}
