//! Answers as text, and what a right one is.

use std::fmt;

use arrow::array::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::prelude::SessionContext;

use crate::Result;
use crate::dataset::Dataset;
use crate::query::Query;
use crate::readers;

/// The rows of a result, each cell as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer(Vec<Vec<String>>);

impl Answer {
    pub(crate) fn new(batches: &[RecordBatch]) -> Result<Self> {
        let options = FormatOptions::default().with_null("NULL");
        let mut rows = Vec::new();
        for batch in batches {
            let columns = batch
                .columns()
                .iter()
                .map(|column| ArrayFormatter::try_new(column.as_ref(), &options))
                .collect::<Result<Vec<_>, _>>()?;
            for row in 0..batch.num_rows() {
                rows.push(columns.iter().map(|column| column.value(row).to_string()).collect());
            }
        }
        Ok(Self(rows))
    }

    /// The right answer: the published one for this scale factor, or that of DataFusion's reader over the same file with
    /// all its short cuts off.
    pub(crate) async fn expected(query: &Query, dataset: &Dataset) -> Result<Self> {
        // Scale factors are typed in, not computed: equal means the same number was meant.
        let published = query.published.iter().find(|published| published.scale_factor == dataset.scale_factor);
        if let Some(published) = published {
            let row = |row: &&[&str]| row.iter().map(|&cell| cell.to_owned()).collect();
            return Ok(Self(published.rows.iter().map(row).collect()));
        }
        let ctx: SessionContext = readers::oracle(dataset, query.tables).await?;
        Self::new(&ctx.sql(query.sql).await?.collect().await?)
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("no rows");
        }
        for (index, row) in self.0.iter().enumerate() {
            write!(f, "{}{}", if index == 0 { "" } else { "; " }, row.join(" "))?;
        }
        Ok(())
    }
}
