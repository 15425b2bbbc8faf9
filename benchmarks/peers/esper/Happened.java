/** An event as Esper sees it. */
public final class Happened {
    private final long user;
    private final long kind;
    private final long time;

    public Happened(long user, long kind, long time) {
        this.user = user;
        this.kind = kind;
        this.time = time;
    }

    public long getUser() {
        return user;
    }

    public long getKind() {
        return kind;
    }

    /** In seconds; the harness numbers events by it, one a second. */
    public long getNumber() {
        return time;
    }
}
