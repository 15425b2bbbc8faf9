// quamina: JSON texts in; an id may have several patterns, and comes back once for each that matches.
package main

import (
	"quamina.net/go/quamina/v2"
	"vedette.benchmarks/harness"
)

type driver struct{ matcher *quamina.Quamina }

func (d driver) Add(id int, rule []byte) error {
	return d.matcher.AddPattern(id, string(rule))
}

func (d driver) MatchText(line []byte) ([]int, error) {
	found, err := d.matcher.MatchesForEvent(line)
	ids := make([]int, len(found))
	for place, id := range found {
		ids[place] = id.(int)
	}
	return ids, err
}

func main() {
	matcher, err := quamina.New()
	if err != nil {
		panic(err)
	}
	harness.Drive(driver{matcher}, "quamina.net/go/quamina/v2")
}
