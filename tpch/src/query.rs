//! The queries: text, tables, order of the answer, published answers, and how to feed the same plan from memory.

use std::borrow::Cow;

use crate::Result;
use crate::dataset::Table;
use crate::dataset::Table::{Customer, Lineitem, Nation, Orders, Part, Partsupp, Region, Supplier};

/// A query of TPC-H, with the substitution parameters that the specification validates it with.
#[derive(Debug)]
pub(crate) struct Query {
    /// `q12`
    pub(crate) name: &'static str,
    sql: &'static str,
    pub(crate) tables: &'static [Table],
    /// The columns of the answer that ORDER BY names: rows that are equal in them may come in any order.
    pub(crate) sorted_by: &'static [usize],
    /// The table whose scan is reported; none for all of them.
    pub(crate) watched: Option<Table>,
    pub(crate) floor: Option<Floor>,
    pub(crate) published: &'static [Published],
}

/// The query without the work of its scans.
#[derive(Debug)]
pub(crate) struct Floor {
    /// The query without the filters that its scans take.
    pub(crate) sql: &'static str,
    /// What each scan delivers.
    pub(crate) inputs: &'static [(Table, &'static str)],
}

/// The answer that the TPC publishes (SF 1), or that a published result reports, for one scale factor.
#[derive(Debug)]
pub(crate) struct Published {
    pub(crate) scale_factor: f64,
    pub(crate) rows: &'static [&'static [&'static str]],
}

impl Query {
    const fn new(name: &'static str, sql: &'static str, tables: &'static [Table], sorted_by: &'static [usize]) -> Self {
        Self { name, sql, tables, sorted_by, watched: None, floor: None, published: &[] }
    }

    /// The text. One parameter depends on the scale factor: Q11's `:fraction`, so that its answer keeps its size.
    pub(crate) fn sql(&self, scale_factor: f64) -> Cow<'static, str> {
        if self.sql.contains(":fraction") {
            Cow::Owned(self.sql.replace(":fraction", &format!("{}", 0.0001 / scale_factor)))
        } else {
            Cow::Borrowed(self.sql)
        }
    }
}

/// Shipping modes and order priority, looked at closely.
pub(crate) static Q12: Query = Q12_CLOSELY;

const Q12_CLOSELY: Query = Query {
    name: "q12",
    sql: include_str!("queries/q12.sql"),
    tables: &[Lineitem, Orders],
    sorted_by: &[0],
    watched: Some(Lineitem),
    floor: Some(Floor {
        sql: "\
select
    l_shipmode,
    sum(case when o_orderpriority = '1-URGENT' or o_orderpriority = '2-HIGH' then 1 else 0 end) as high_line_count,
    sum(case when o_orderpriority <> '1-URGENT' and o_orderpriority <> '2-HIGH' then 1 else 0 end) as low_line_count
from orders, lineitem
where o_orderkey = l_orderkey
group by l_shipmode
order by l_shipmode",
        inputs: &[
            (
                Lineitem,
                "\
select l_orderkey, l_shipmode
from lineitem
where l_shipmode in ('MAIL', 'SHIP')
    and l_commitdate < l_receiptdate
    and l_shipdate < l_commitdate
    and l_receiptdate >= date '1994-01-01'
    and l_receiptdate < date '1994-01-01' + interval '1' year",
            ),
            (Orders, "select o_orderkey, o_orderpriority from orders"),
        ],
    }),
    published: &[
        Published { scale_factor: 1.0, rows: &[&["MAIL", "6202", "9324"], &["SHIP", "6200", "9262"]] },
        Published { scale_factor: 10.0, rows: &[&["MAIL", "62071", "93045"], &["SHIP", "62426", "93261"]] },
    ],
};

/// Q1 to Q22.
pub(crate) static ALL: [Query; 22] = [
    Query::new("q1", include_str!("queries/q01.sql"), &[Lineitem], &[0, 1]),
    Query::new("q2", include_str!("queries/q02.sql"), &[Part, Supplier, Partsupp, Nation, Region], &[0, 2, 1, 3]),
    Query::new("q3", include_str!("queries/q03.sql"), &[Customer, Orders, Lineitem], &[1, 2]),
    Query::new("q4", include_str!("queries/q04.sql"), &[Orders, Lineitem], &[0]),
    Query::new("q5", include_str!("queries/q05.sql"), &[Customer, Orders, Lineitem, Supplier, Nation, Region], &[1]),
    Query::new("q6", include_str!("queries/q06.sql"), &[Lineitem], &[]),
    Query::new("q7", include_str!("queries/q07.sql"), &[Supplier, Lineitem, Orders, Customer, Nation], &[0, 1, 2]),
    Query::new(
        "q8",
        include_str!("queries/q08.sql"),
        &[Part, Supplier, Lineitem, Orders, Customer, Nation, Region],
        &[0],
    ),
    Query::new("q9", include_str!("queries/q09.sql"), &[Part, Supplier, Lineitem, Partsupp, Orders, Nation], &[0, 1]),
    Query::new("q10", include_str!("queries/q10.sql"), &[Customer, Orders, Lineitem, Nation], &[2]),
    Query::new("q11", include_str!("queries/q11.sql"), &[Partsupp, Supplier, Nation], &[1]),
    Query { watched: None, floor: None, ..Q12_CLOSELY },
    Query::new("q13", include_str!("queries/q13.sql"), &[Customer, Orders], &[1, 0]),
    Query::new("q14", include_str!("queries/q14.sql"), &[Lineitem, Part], &[]),
    Query::new("q15", include_str!("queries/q15.sql"), &[Lineitem, Supplier], &[0]),
    Query::new("q16", include_str!("queries/q16.sql"), &[Partsupp, Part, Supplier], &[3, 0, 1, 2]),
    Query::new("q17", include_str!("queries/q17.sql"), &[Lineitem, Part], &[]),
    Query::new("q18", include_str!("queries/q18.sql"), &[Customer, Orders, Lineitem], &[4, 3]),
    Query::new("q19", include_str!("queries/q19.sql"), &[Lineitem, Part], &[]),
    Query::new("q20", include_str!("queries/q20.sql"), &[Supplier, Nation, Partsupp, Part, Lineitem], &[0]),
    Query::new("q21", include_str!("queries/q21.sql"), &[Supplier, Lineitem, Orders, Nation], &[1, 0]),
    Query::new("q22", include_str!("queries/q22.sql"), &[Customer, Orders], &[0]),
];

/// Queries to run, each once, in the order in which they were named.
#[derive(Clone, Debug)]
pub(crate) struct Selection(pub(crate) Vec<&'static Query>);

impl Selection {
    /// `all`, or numbers separated by commas.
    ///
    /// # Errors
    /// What is neither: the message says which there are.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        if text.trim() == "all" {
            return Ok(Self(ALL.iter().collect()));
        }
        let mut queries: Vec<&Query> = Vec::new();
        for word in text.split(',').map(str::trim) {
            let index = word.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            let Some(query) = index.and_then(|index| ALL.get(index)) else {
                return Err(format!("there is no query {word:?}; known are 1 to {}, and all", ALL.len()).into());
            };
            if queries.iter().all(|other| other.name != query.name) {
                queries.push(query);
            }
        }
        Ok(Self(queries))
    }

    /// The tables that the queries read, each once.
    pub(crate) fn tables(&self) -> Vec<Table> {
        let reads = |table: &&Table| self.0.iter().any(|query| query.tables.contains(*table));
        Table::ALL.iter().filter(reads).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Result<Vec<&'static str>> {
        Ok(Selection::parse(text)?.0.iter().map(|query| query.name).collect())
    }

    #[test]
    fn a_query_has_the_name_of_its_place() {
        for (index, query) in ALL.iter().enumerate() {
            assert_eq!(query.name, format!("q{}", index + 1));
        }
    }

    #[test]
    fn queries_name_the_tables_that_they_read() {
        for query in &ALL {
            for table in Table::ALL {
                let words = query.sql.split(|c: char| !c.is_alphanumeric() && c != '_');
                let mut columns = words.filter(|word| word.starts_with(table.column_prefix()));
                assert_eq!(columns.next().is_some(), query.tables.contains(table), "{} {table:?}", query.name);
            }
        }
    }

    #[test]
    fn lists_of_queries() {
        assert_eq!(names("all").unwrap().len(), 22);
        assert_eq!(names("12").unwrap(), ["q12"]);
        assert_eq!(names("6, 1,6,22").unwrap(), ["q6", "q1", "q22"]);
        for wrong in ["", "0", "23", "1,,2", "1;2", "-1", "q", "all,1"] {
            let error = names(wrong).unwrap_err().to_string();
            assert!(error.contains("known are 1 to 22, and all"), "{wrong}: {error}");
        }
    }

    #[test]
    fn tables_of_a_list() {
        assert_eq!(Selection::parse("6").unwrap().tables(), [Lineitem]);
        assert_eq!(Selection::parse("22,4").unwrap().tables(), [Lineitem, Orders, Customer]);
        assert_eq!(Selection::parse("all").unwrap().tables(), Table::ALL);
    }

    #[test]
    fn the_fraction_of_q11_shrinks_with_the_scale() {
        assert!(ALL[10].sql(1.0).contains("* 0.0001\n"));
        assert!(ALL[10].sql(0.01).contains("* 0.01\n"));
        assert!(ALL[10].sql(10.0).contains("* 0.00001\n"));
        assert!(ALL.iter().all(|query| !query.sql(1.0).contains(':')));
    }
}
