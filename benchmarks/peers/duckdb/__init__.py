"""DuckDB: a join where rules are conjunctions of ranges, else a query for each rule."""
