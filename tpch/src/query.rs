//! The queries: text, tables, published answers, and how to feed the same plan from memory.

use crate::dataset::Table;

/// A query of TPC-H.
#[derive(Debug)]
pub(crate) struct Query {
    /// `q12`
    pub(crate) name: &'static str,
    pub(crate) sql: &'static str,
    pub(crate) tables: &'static [Table],
    /// The table whose scan is reported.
    pub(crate) watched: Table,
    pub(crate) floor: Floor,
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

/// Shipping modes and order priority.
pub(crate) const Q12: Query = Query {
    name: "q12",
    sql: "\
select
    l_shipmode,
    sum(case when o_orderpriority = '1-URGENT' or o_orderpriority = '2-HIGH' then 1 else 0 end) as high_line_count,
    sum(case when o_orderpriority <> '1-URGENT' and o_orderpriority <> '2-HIGH' then 1 else 0 end) as low_line_count
from orders, lineitem
where o_orderkey = l_orderkey
    and l_shipmode in ('MAIL', 'SHIP')
    and l_commitdate < l_receiptdate
    and l_shipdate < l_commitdate
    and l_receiptdate >= date '1994-01-01'
    and l_receiptdate < date '1994-01-01' + interval '1' year
group by l_shipmode
order by l_shipmode",
    tables: &[Table::Lineitem, Table::Orders],
    watched: Table::Lineitem,
    floor: Floor {
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
                Table::Lineitem,
                "\
select l_orderkey, l_shipmode
from lineitem
where l_shipmode in ('MAIL', 'SHIP')
    and l_commitdate < l_receiptdate
    and l_shipdate < l_commitdate
    and l_receiptdate >= date '1994-01-01'
    and l_receiptdate < date '1994-01-01' + interval '1' year",
            ),
            (Table::Orders, "select o_orderkey, o_orderpriority from orders"),
        ],
    },
    published: &[
        Published { scale_factor: 1.0, rows: &[&["MAIL", "6202", "9324"], &["SHIP", "6200", "9262"]] },
        Published { scale_factor: 10.0, rows: &[&["MAIL", "62071", "93045"], &["SHIP", "62426", "93261"]] },
    ],
};
