module vedette.benchmarks/harness

go 1.24
