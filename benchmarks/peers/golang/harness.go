// Package harness drives peers in Go as benchmarks/peers/protocol.py says.
package harness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Peer is one engine: a rule has an id, JSON texts go in.
type Peer interface {
	Add(id int, rule []byte) error
	MatchText(line []byte) ([]int, error)
}

// Parsed is what a peer also has if it takes events in a form of its own.
type Parsed interface {
	Parse(line []byte) (any, error)
	Match(event any) []int
}

type asked struct {
	Checked int     `json:"checked"`
	BuildS  float64 `json:"build_s"`
	MatchS  float64 `json:"match_s"`
}

type figures struct {
	Version    string      `json:"version"`
	BuildS     *float64    `json:"build_s"`
	Bytes      *float64    `json:"bytes"`
	Checked    int         `json:"checked"`
	TextPerS   *float64    `json:"text_per_s"`
	ParsedPerS *float64    `json:"parsed_per_s"`
	TextUs     *[2]float64 `json:"text_us"`
	ParsedUs   *[2]float64 `json:"parsed_us"`
	Failed     *string     `json:"failed"`
}

var sink int // what is found is used, so that nobody leaves it out

// Drive builds, writes the matches down, measures; the folder is the command's last argument.
func Drive(peer Peer, module string) {
	folder := os.Args[len(os.Args)-1]
	said := figures{Version: version(module)}
	if err := drive(peer, folder, &said); err != nil {
		why := err.Error()
		said.Failed = &why
	}
	text, err := json.Marshal(said)
	must(err)
	must(os.WriteFile(filepath.Join(folder, "figures.json"), text, 0o644))
}

func drive(peer Peer, folder string, said *figures) error {
	var asked asked
	must(json.Unmarshal(read(folder, "case.json"), &asked))
	rules, lines := split(read(folder, "rules.tsv")), split(read(folder, "events.jsonl"))
	before, begin := used(), time.Now()
	for _, line := range rules {
		number, rule, _ := bytes.Cut(line, []byte("\t"))
		id, err := strconv.Atoi(string(number))
		must(err)
		if err := peer.Add(id, rule); err != nil {
			return fmt.Errorf("it refuses %s: %w", rule, err)
		}
		if time.Since(begin).Seconds() > asked.BuildS {
			return fmt.Errorf("building is not done after %.0f s", asked.BuildS)
		}
	}
	built := time.Since(begin).Seconds()
	size := max(0, used()-before)
	said.BuildS, said.Bytes = &built, &size
	runtime.KeepAlive(rules) // or what is freed of them would be taken off the size
	if err := matches(peer, folder, lines, asked, said); err != nil {
		return err
	}
	if other, has := peer.(Parsed); has {
		events := make([]any, len(lines))
		for place, line := range lines {
			event, err := other.Parse(line)
			must(err)
			events[place] = event
		}
		said.ParsedPerS, said.ParsedUs = repeated(len(events), asked.MatchS, func(place int) {
			sink += len(other.Match(events[place]))
		})
	}
	said.TextPerS, said.TextUs = repeated(len(lines), asked.MatchS, func(place int) {
		found, _ := peer.MatchText(lines[place])
		sink += len(found)
	})
	return nil
}

func matches(peer Peer, folder string, lines [][]byte, asked asked, said *figures) error {
	var out strings.Builder
	begin := time.Now()
	for number, line := range lines[:min(asked.Checked, len(lines))] {
		if number > 0 && time.Since(begin).Seconds() > 2*asked.MatchS {
			break
		}
		ids, err := peer.MatchText(line)
		if err != nil {
			return fmt.Errorf("it refuses the event %s: %w", line, err)
		}
		fmt.Fprintf(&out, "%d\t%s\n", number, strings.Trim(fmt.Sprint(ids), "[]"))
		said.Checked = number + 1
	}
	return os.WriteFile(filepath.Join(folder, "matches.tsv"), []byte(out.String()), 0o644)
}

// repeated says how many items a second, and p50 and p99 of one in microseconds; the first round warms up.
func repeated(items int, budgetS float64, action func(place int)) (*float64, *[2]float64) {
	var took []time.Duration
	var total time.Duration
	for _, seconds := range []float64{budgetS / 2, budgetS} {
		took, total = took[:0], 0
		end := time.Now().Add(time.Duration(seconds * 1e9))
		for place := 0; len(took) == 0 || time.Now().Before(end); place = (place + 1) % items {
			begin := time.Now()
			action(place)
			spent := time.Since(begin)
			took = append(took, spent)
			total += spent
		}
	}
	slices.Sort(took)
	at := func(share float64) float64 { return float64(took[int(float64(len(took)-1)*share)]) / 1e3 }
	rate := float64(len(took)) / total.Seconds()
	return &rate, &[2]float64{at(0.5), at(0.99)}
}

func used() float64 {
	runtime.GC()
	debug.FreeOSMemory()
	var said runtime.MemStats
	runtime.ReadMemStats(&said)
	return float64(said.HeapAlloc)
}

// version is that of the module that was built in.
func version(module string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, one := range info.Deps {
			if one.Path == module {
				return strings.TrimPrefix(one.Version, "v")
			}
		}
	}
	return ""
}

func split(text []byte) [][]byte {
	return bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
}

func read(folder, name string) []byte {
	text, err := os.ReadFile(filepath.Join(folder, name))
	must(err)
	return text
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
