module vedette.benchmarks/hypermatch

go 1.24

require (
	github.com/SchwarzDigits/hypermatch/v2 v2.2.0
	vedette.benchmarks/harness v0.0.0
)

replace vedette.benchmarks/harness => ../golang
