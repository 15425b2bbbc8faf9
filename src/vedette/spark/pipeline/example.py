"""An example of a pipeline file: complete, with the other possibilities as comments."""

EXAMPLE = """\
# A Vedette pipeline: events -> subscriptions -> notifications. Paths are relative to this file.

mode = "batch"                      # all there is, once
# mode = "available-now"            # what came since the last run, then stop; needs a checkpoint
# mode = "continuous"               # for ever; needs a checkpoint
# trigger = "10 seconds"            # continuous: a micro-batch begins so often
# checkpoint = "state/checkpoint"   # remembers how far the pipeline came
# schema = "schema.yaml"            # attributes and their types; events that break it are quarantined
# keep = ["price"]                  # attributes of the event that notifications carry besides

[subscriptions]
file = "subscriptions.jsonl"        # {"id": "s1", "subscriber": "alice", "when": "price < 120"}
# refresh = "30 seconds"            # streams: look for a new version so often

[source]
type = "jsonl"                      # or csv, parquet, delta, kafka, jdbc, rate
path = "events.jsonl"               # a file, a folder, or a pattern; a stream needs a folder or a pattern

# [source]
# type = "kafka"
# servers = ["localhost:9092"]
# topics = ["events"]

[quarantine]                        # rows that are malformed or break the schema, with the reason
type = "jsonl"
path = "quarantine"

[[sinks]]
name = "everything"
type = "parquet"                    # or jsonl, console, kafka, jdbc, webhook
path = "notifications"
if_exists = "replace"               # batch: what an earlier run wrote is replaced

[[sinks]]
name = "alice"
type = "console"
subscribers = ["alice"]             # only hers; `ops-*` would be everybody whose name begins so

# [spark]
# master = "spark://host:7077"      # default: this machine
# conf = { "spark.driver.memory" = "2g" }
"""
