import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import software.amazon.event.ruler.JsonRuleCompiler;
import software.amazon.event.ruler.Machine;

/** Reads lines of {"pattern": text, "event": text}; answers true, false, or "refused", a tab and what is said of it. */
public class Ruler {
    public static void main(String[] arguments) throws Exception {
        ObjectMapper json = new ObjectMapper();
        BufferedReader asked = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = new PrintStream(System.out, false, "UTF-8");
        for (String line = asked.readLine(); line != null; line = asked.readLine()) {
            JsonNode one = json.readTree(line);
            String pattern = one.get("pattern").asText();
            String answer;
            try {
                // The finder that is new in 2.0 overlooks leaves outside of a list beside others inside of it.
                Machine machine = Machine.builder().withStructuredMatching(false).build();
                machine.addRule("pattern", pattern);
                answer = machine.rulesForJSONEvent(one.get("event").asText()).isEmpty() ? "false" : "true";
            } catch (Exception refused) {
                String said = JsonRuleCompiler.check(pattern);
                answer = "refused\t" + String.valueOf(said == null ? refused.getMessage() : said).split("\n")[0];
            }
            answers.println(answer);
        }
        answers.flush();
    }
}
