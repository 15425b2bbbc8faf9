//! The crate a-tree, driven as benchmarks/peers/protocol.py says.

use std::fs;
use std::hint::black_box;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use a_tree::{ATree, AttributeDefinition, Event};
use serde_json::{json, Value};

type Tree = ATree<u64>;

fn main() {
    let folder = PathBuf::from(std::env::args().nth(1).expect("a folder"));
    let asked: Value = serde_json::from_str(&read(&folder, "case.json")).expect("case.json");
    let kinds: Vec<(String, String)> = asked["kinds"]
        .as_object()
        .expect("kinds")
        .iter()
        .map(|(name, kind)| (name.clone(), kind.as_str().unwrap_or("string").to_string()))
        .collect();
    let definitions: Vec<AttributeDefinition> = kinds.iter().map(|(name, kind)| definition(name, kind)).collect();
    let rules = read(&folder, "rules.tsv");
    let events = read(&folder, "events.jsonl");
    let lines: Vec<&str> = events.lines().collect();
    let build_s = asked["build_s"].as_f64().unwrap_or(20.0);

    let before = resident();
    let begin = Instant::now();
    let mut tree: Tree = ATree::new(&definitions).expect("attributes");
    for line in rules.lines() {
        let (id, rule) = line.split_once('\t').expect("id TAB rule");
        let id: u64 = id.parse().expect("a number");
        if let Err(error) = tree.insert(&id, rule) {
            return figures(&folder, json!({"failed": format!("it refuses {rule}: {error:?}")}));
        }
        if begin.elapsed().as_secs_f64() > build_s {
            return figures(&folder, json!({"failed": format!("building is not done after {build_s} s")}));
        }
    }
    let built = begin.elapsed().as_secs_f64();
    let bytes = resident() - before;

    let match_s = asked["match_s"].as_f64().unwrap_or(1.0);
    let checked = asked["checked"].as_u64().unwrap_or(0) as usize;
    let written = write_matches(&folder, &tree, &kinds, &lines, checked, 2.0 * match_s);
    let parsed: Vec<Event> = lines.iter().map(|line| event(&tree, &kinds, line)).collect();
    let (parsed_per_s, parsed_us) = repeated(parsed.len(), match_s, |place| {
        black_box(tree.search(&parsed[place]).expect("an answer").matches().len());
    });
    let (text_per_s, text_us) = repeated(lines.len(), match_s, |place| {
        let made = event(&tree, &kinds, lines[place]);
        black_box(tree.search(&made).expect("an answer").matches().len());
    });
    figures(
        &folder,
        json!({"version": "0.6", "build_s": built, "bytes": bytes, "checked": written, "parsed_per_s": parsed_per_s,
            "parsed_us": parsed_us, "text_per_s": text_per_s, "text_us": text_us}),
    );
}

fn definition(name: &str, kind: &str) -> AttributeDefinition {
    match kind {
        "int" => AttributeDefinition::integer(name),
        "float" => AttributeDefinition::float(name),
        "strings" => AttributeDefinition::string_list(name),
        _ => AttributeDefinition::string(name),
    }
}

/// One event from its JSON text; what is missing stays undefined.
fn event(tree: &Tree, kinds: &[(String, String)], line: &str) -> Event {
    let said: Value = serde_json::from_str(line).expect("JSON");
    let mut builder = tree.make_event();
    for (name, kind) in kinds {
        match (&said[name.as_str()], kind.as_str()) {
            (Value::Null, _) => builder.with_undefined(name),
            (value, "int") => builder.with_integer(name, value.as_i64().expect("an integer")),
            (value, "float") => {
                let (number, scale) = decimal(value.as_f64().expect("a number"));
                builder.with_float(name, number, scale)
            }
            (value, "strings") => {
                let texts: Vec<&str> = value.as_array().expect("a list").iter().filter_map(Value::as_str).collect();
                builder.with_string_list(name, &texts)
            }
            (value, _) => builder.with_string(name, value.as_str().expect("a text")),
        }
        .expect("an attribute");
    }
    builder.build().expect("an event")
}

/// The shortest decimal that reads as this number, as an integer and how many of its digits are behind the point.
fn decimal(number: f64) -> (i64, u32) {
    let text = format!("{number}");
    match text.split_once('.') {
        None => (text.parse().expect("digits"), 0),
        Some((whole, part)) => (format!("{whole}{part}").parse().expect("at most 18 digits"), part.len() as u32),
    }
}

fn write_matches(
    folder: &Path,
    tree: &Tree,
    kinds: &[(String, String)],
    lines: &[&str],
    checked: usize,
    limit_s: f64,
) -> usize {
    let mut out = std::io::BufWriter::new(fs::File::create(folder.join("matches.tsv")).expect("matches.tsv"));
    let begin = Instant::now();
    for (number, line) in lines.iter().take(checked).enumerate() {
        let made = event(tree, kinds, line);
        let report = tree.search(&made).expect("an answer");
        let ids: Vec<String> = report.matches().iter().map(|id| id.to_string()).collect();
        writeln!(out, "{number}\t{}", ids.join(" ")).expect("written");
        if begin.elapsed().as_secs_f64() > limit_s {
            return number + 1;
        }
    }
    checked.min(lines.len())
}

/// Items a second, and p50 and p99 of one in microseconds; the first round warms up.
fn repeated(items: usize, budget_s: f64, mut action: impl FnMut(usize)) -> (f64, [f64; 2]) {
    let mut took: Vec<u64> = Vec::new();
    for seconds in [budget_s / 2.0, budget_s] {
        took.clear();
        let end = Instant::now() + Duration::from_secs_f64(seconds);
        let mut place = 0;
        while took.is_empty() || Instant::now() < end {
            let begin = Instant::now();
            action(place);
            took.push(begin.elapsed().as_nanos() as u64);
            place = (place + 1) % items;
        }
    }
    let total: u64 = took.iter().sum();
    took.sort_unstable();
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize] as f64 / 1e3;
    (1e9 * took.len() as f64 / total as f64, [at(0.5), at(0.99)])
}

fn resident() -> f64 {
    let said = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    said.split_whitespace().nth(1).and_then(|pages| pages.parse::<f64>().ok()).unwrap_or(0.0) * 4096.0
}

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).expect(name)
}

fn figures(folder: &Path, said: Value) {
    fs::write(folder.join("figures.json"), said.to_string()).expect("figures.json");
}
