module vedette.benchmarks/quamina

go 1.24

require (
	quamina.net/go/quamina/v2 v2.0.0
	vedette.benchmarks/harness v0.0.0
)

replace vedette.benchmarks/harness => ../golang
