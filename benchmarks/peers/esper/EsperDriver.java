import com.espertech.esper.common.client.EPCompiled;
import com.espertech.esper.common.client.configuration.Configuration;
import com.espertech.esper.compiler.client.CompilerArguments;
import com.espertech.esper.compiler.client.EPCompilerProvider;
import com.espertech.esper.runtime.client.EPRuntime;
import com.espertech.esper.runtime.client.EPRuntimeProvider;
import com.espertech.esper.runtime.client.EPStatement;
import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** Esper: a statement for each pattern, time from the events; what is told while an event is sent is completed by it. */
final class EsperDriver implements Harness.Peer<Happened> {
    private static final int AT_ONCE = 50; // statements that are compiled together, which is faster

    private final Configuration configuration = new Configuration();
    private final EPRuntime runtime;
    private final List<String> ids = new ArrayList<>();
    private final List<String> waiting = new ArrayList<>();
    private Set<String> found = new LinkedHashSet<>();
    private long moved = 0; // seconds that times are moved on: the same events happen round and round
    private long latest = -1;

    EsperDriver() {
        configuration.getCommon().addEventType("Happened", Happened.class);
        configuration.getRuntime().getThreading().setInternalTimerEnabled(false);
        configuration.getRuntime().getThreading().setListenerDispatchPreserveOrder(false);
        runtime = EPRuntimeProvider.getRuntime("vedette", configuration);
        runtime.getEventService().clockExternal();
        runtime.getEventService().advanceTime(0);
    }

    @Override
    public String version() {
        return "9.0.0";
    }

    @Override
    public void add(String id, String statement) throws Exception {
        ids.add(id);
        waiting.add("@name('p" + id + "') " + statement + ";\n");
        if (waiting.size() == AT_ONCE) {
            ready();
        }
    }

    @Override
    public void ready() throws Exception {
        if (waiting.isEmpty()) {
            return;
        }
        EPCompiled compiled =
                EPCompilerProvider.getCompiler().compile(String.join("", waiting), new CompilerArguments(configuration));
        for (EPStatement statement : runtime.getDeploymentService().deploy(compiled).getStatements()) {
            String id = statement.getName().substring(1);
            statement.addListener((news, olds, which, where) -> found.add(id));
        }
        waiting.clear();
    }

    @Override
    public Happened parse(String line) throws Exception {
        JsonNode said = Harness.JSON.readTree(line);
        return new Happened(said.get("user").asLong(), said.get("kind").asLong(), said.get("time").asLong());
    }

    @Override
    public Collection<String> match(Happened event) {
        long time = event.getNumber();
        if (time <= latest) { // a new round
            moved += latest + 1 - time;
        }
        latest = time;
        found = new LinkedHashSet<>();
        runtime.getEventService().advanceTime(1000 * (moved + time));
        runtime.getEventService().sendEventBean(event, "Happened");
        return found;
    }

    public static void main(String[] arguments) throws Exception {
        Harness.drive(new EsperDriver(), Path.of(arguments[0]));
    }
}
