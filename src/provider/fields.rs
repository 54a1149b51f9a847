//! Which fields of structs a scan reads: of `s.a` only the leaf `a`.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::functions::core::getfield::GetFieldFunc;
use datafusion::physical_expr::expressions::{Column, Literal};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};

use crate::scan::Part;

/// What expressions read of the structs among the root columns of a file: paths of fields. An empty path is all of a column.
#[derive(Debug, Default)]
pub(super) struct FieldReads(BTreeMap<usize, Vec<Vec<String>>>);

impl FieldReads {
    /// Adds what `expr` reads.
    pub(super) fn add(&mut self, expr: &Arc<dyn PhysicalExpr>) {
        // The closure does not fail.
        let _ = expr.apply(|node| {
            if let Some((column, path)) = field_path(node) {
                self.0.entry(column).or_default().push(path);
                return Ok(TreeNodeRecursion::Jump);
            }
            if let Some(column) = node.downcast_ref::<Column>() {
                self.0.entry(column.index()).or_default().push(Vec::new());
            }
            Ok(TreeNodeRecursion::Continue)
        });
    }

    /// The columns of `schema` of which some leaves are not read.
    pub(super) fn parts(&self, schema: &Schema) -> Vec<Part> {
        let part = |(&root, paths): (&usize, &Vec<Vec<String>>)| {
            let field = schema.fields().get(root)?;
            let mut clip = Clip::default();
            let paths: Vec<&[String]> = paths.iter().map(Vec::as_slice).collect();
            let data_type = clip.clip(field.data_type(), &paths)?;
            let whole = clip.leaves.len() == clip.next;
            (!whole).then_some(Part { root, data_type, leaves: clip.leaves })
        };
        self.0.iter().filter_map(part).collect()
    }
}

/// The column and the field that `get_field(column, 'a', 'b')` reads.
fn field_path(expr: &Arc<dyn PhysicalExpr>) -> Option<(usize, Vec<String>)> {
    let function = ScalarFunctionExpr::try_downcast_func::<GetFieldFunc>(expr.as_ref())?;
    let (base, names) = function.args().split_first()?;
    let name =
        |arg: &Arc<dyn PhysicalExpr>| Some(arg.downcast_ref::<Literal>()?.value().try_as_str().flatten()?.to_string());
    let path: Vec<String> = names.iter().map(name).collect::<Option<_>>()?;
    if let Some(column) = base.downcast_ref::<Column>() {
        return Some((column.index(), path));
    }
    let (column, mut outer) = field_path(base)?;
    outer.extend(path);
    Some((column, outer))
}

/// A walk over the leaves of a column, in the order of the file.
#[derive(Debug, Default)]
struct Clip {
    /// The leaf that comes next.
    next: usize,
    /// Leaves that are read.
    leaves: Vec<usize>,
}

impl Clip {
    /// `data_type` with the fields at `paths` alone; None if they cannot be found in it.
    fn clip(&mut self, data_type: &DataType, paths: &[&[String]]) -> Option<DataType> {
        let DataType::Struct(fields) = data_type else {
            // The path may go on into a map, whose keys are values.
            let leaves = leaf_count(data_type);
            self.leaves.extend(self.next..self.next + leaves);
            self.next += leaves;
            return Some(data_type.clone());
        };
        let all = paths.iter().any(|path| path.is_empty());
        if !all && !paths.iter().all(|path| fields.iter().any(|field| *field.name() == path[0])) {
            return None;
        }
        let mut kept: Vec<FieldRef> = Vec::new();
        for field in fields {
            let inner: Vec<&[String]> = if all {
                vec![&[]]
            } else {
                paths.iter().filter(|path| path[0] == *field.name()).map(|path| &path[1..]).collect()
            };
            if inner.is_empty() {
                self.next += leaf_count(field.data_type());
                continue;
            }
            let data_type = self.clip(field.data_type(), &inner)?;
            kept.push(Arc::new(field.as_ref().clone().with_data_type(data_type)));
        }
        Some(DataType::Struct(kept.into()))
    }
}

/// Leaf columns of a Parquet column that is delivered as `data_type`.
fn leaf_count(data_type: &DataType) -> usize {
    match data_type {
        DataType::Struct(fields) => fields.iter().map(|field| leaf_count(field.data_type())).sum(),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => leaf_count(field.data_type()),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{Field, Fields};
    use datafusion::functions::core::get_field;
    use datafusion::physical_expr::expressions::lit;

    use super::*;

    fn fields(fields: Vec<Field>) -> DataType {
        DataType::Struct(Fields::from(fields))
    }

    /// `s` is a struct of `a`, `b` (a struct of `x`, `y`), `l` (a list of structs of `p`, `q`) and `m` (a map).
    fn schema() -> Schema {
        let list = Field::new(
            "element",
            fields(vec![Field::new("p", DataType::Int32, true), Field::new("q", DataType::Utf8, true)]),
            true,
        );
        let entries = Field::new(
            "entries",
            fields(vec![Field::new("k", DataType::Utf8, false), Field::new("v", DataType::Int64, true)]),
            false,
        );
        let inner = fields(vec![Field::new("x", DataType::Int32, true), Field::new("y", DataType::Int32, false)]);
        Schema::new(vec![
            Field::new("id", DataType::Int64, true),
            Field::new(
                "s",
                fields(vec![
                    Field::new("a", DataType::Int32, true),
                    Field::new("b", inner, true),
                    Field::new("l", DataType::List(Arc::new(list)), true),
                    Field::new("m", DataType::Map(Arc::new(entries), false), true),
                ]),
                true,
            ),
        ])
    }

    fn get(path: &[&str]) -> Arc<dyn PhysicalExpr> {
        let schema = schema();
        let mut args: Vec<Arc<dyn PhysicalExpr>> = vec![Arc::new(Column::new("s", 1))];
        args.extend(path.iter().map(|name| lit(*name)));
        Arc::new(ScalarFunctionExpr::try_new(get_field(), args, &schema, Arc::default()).unwrap())
    }

    fn leaves(exprs: &[Arc<dyn PhysicalExpr>]) -> Option<Vec<usize>> {
        let mut reads = FieldReads::default();
        exprs.iter().for_each(|expr| reads.add(expr));
        let mut parts = reads.parts(&schema());
        assert!(parts.len() < 2);
        let part = parts.pop()?;
        assert_eq!((part.root, leaf_count(&part.data_type)), (1, part.leaves.len()));
        Some(part.leaves)
    }

    #[test]
    fn leaves_of_paths() {
        assert_eq!(leaves(&[get(&["a"])]), Some(vec![0]));
        assert_eq!(leaves(&[get(&["b", "y"]), get(&["a"])]), Some(vec![0, 2]));
        assert_eq!(leaves(&[get(&["b"]), get(&["b", "x"])]), Some(vec![1, 2]));
        assert_eq!(leaves(&[get(&["l"])]), Some(vec![3, 4]));
        assert_eq!(leaves(&[get(&["m", "some key"])]), Some(vec![5, 6]));
        assert_eq!(leaves(&[get(&["a"]), get(&["b"]), get(&["l"]), get(&["m"])]), None);
        assert_eq!(leaves(&[get(&["a"]), Arc::new(Column::new("s", 1))]), None);
        assert_eq!(leaves(&[Arc::new(Column::new("id", 0))]), None);
    }
}
