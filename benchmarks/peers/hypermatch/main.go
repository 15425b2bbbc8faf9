// hypermatch: JSON texts in, or lists of properties whose values are texts, numbers among them.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/SchwarzDigits/hypermatch/v2"
	"vedette.benchmarks/harness"
)

type driver struct {
	matcher *hypermatch.HyperMatch[int]
	found   []int // reused, which its authors advise
}

func (d *driver) Add(id int, rule []byte) error {
	var conditions hypermatch.ConditionSet
	if err := json.Unmarshal(rule, &conditions); err != nil {
		return err
	}
	return d.matcher.AddRule(id, conditions)
}

func (d *driver) MatchText(line []byte) ([]int, error) {
	var err error
	d.found, err = d.matcher.AppendMatchesJSON(d.found[:0], line)
	return d.found, err
}

func (d *driver) Parse(line []byte) (any, error) {
	reader := json.NewDecoder(bytes.NewReader(line))
	reader.UseNumber() // numbers stay the texts that they are
	var fields map[string]any
	if err := reader.Decode(&fields); err != nil {
		return nil, err
	}
	event := make([]hypermatch.Property, 0, len(fields))
	for path, value := range fields {
		if value != nil {
			event = append(event, hypermatch.Property{Path: path, Values: texts(value)})
		}
	}
	return event, nil
}

func texts(value any) []string {
	several, isList := value.([]any)
	if !isList {
		return []string{fmt.Sprint(value)}
	}
	said := make([]string, len(several))
	for place, one := range several {
		said[place] = fmt.Sprint(one)
	}
	return said
}

func (d *driver) Match(event any) []int {
	d.found = d.matcher.AppendMatches(d.found[:0], event.([]hypermatch.Property))
	return d.found
}

func main() {
	harness.Drive(&driver{matcher: hypermatch.New[int]()}, "github.com/SchwarzDigits/hypermatch/v2")
}
