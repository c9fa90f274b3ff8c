//! `train`, `frequent_pieces` and `TrainResult`.

use std::collections::HashMap;

use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use slmtok_core::train::{self as core, Options, Outcome, Replayed, Stop, TieBreak, TokenLimits};

use crate::arrays::{prepare_arrays, read_only};
use crate::bridge::{exception, run, run_reporting};
use crate::counts::Counts;

/// What a run did.
#[pyclass(frozen, module = "slmtok._native")]
pub struct TrainResult {
    inner: Outcome,
}

#[pymethods]
impl TrainResult {
    #[getter]
    fn merges<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let flat: Vec<u32> = self.inner.merges.iter().flat_map(|&(left, right)| [left, right]).collect();
        prepare_arrays(py)?;
        let array = PyArray1::from_vec(py, flat).reshape([self.inner.merges.len(), 2])?;
        array.try_readwrite()?.make_nonwriteable();
        Ok(array.into_any())
    }

    #[getter]
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        read_only(py, self.inner.counts.clone())
    }

    #[getter]
    fn merge_list(&self) -> Vec<(u32, u32)> {
        self.inner.merges.clone()
    }

    #[getter]
    fn count_list(&self) -> Vec<u64> {
        self.inner.counts.clone()
    }

    #[getter]
    fn reused(&self) -> Vec<(u32, u32)> {
        self.inner.reused.clone()
    }

    #[getter]
    fn refused<'py>(&self, py: Python<'py>) -> Vec<(Bound<'py, PyBytes>, &'static str, u64)> {
        self.inner.refused.iter().map(|one| (PyBytes::new(py, &one.token), one.option, one.count)).collect()
    }

    #[getter]
    fn required_merges(&self) -> u32 {
        self.inner.required_merges
    }

    #[getter]
    fn stopped(&self) -> &'static str {
        match self.inner.stop {
            Stop::Full => "full",
            Stop::NoPairs => "no pairs",
            Stop::MinCount => "min_count",
        }
    }

    #[getter]
    fn next_count(&self) -> u64 {
        self.inner.next_count
    }

    #[getter]
    fn stats(&self) -> HashMap<&'static str, u64> {
        let stats = self.inner.stats;
        HashMap::from([
            ("arena", stats.arena),
            ("pops", stats.pops),
            ("visited", stats.visited),
            ("applied", stats.applied),
            ("pairs", stats.pairs),
            ("postings", stats.postings),
        ])
    }
}

/// Learns merges from counts.
#[pyfunction]
#[pyo3(signature = (counts, n_merges, *, tie_break="rank", min_count=2, max_token_bytes=0, max_token_chars=0, forbid=None, require=Vec::new(), specials=Vec::new(), replay=Vec::new(), progress=None))]
#[expect(clippy::too_many_arguments, reason = "keyword-only options of one Python call")]
pub fn train(
    py: Python<'_>,
    counts: &Counts,
    n_merges: u32,
    tie_break: &str,
    min_count: u64,
    max_token_bytes: u32,
    max_token_chars: u32,
    forbid: Option<&str>,
    require: Vec<Vec<u8>>,
    specials: Vec<Vec<u8>>,
    replay: Vec<(u32, u32, Option<u32>)>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<TrainResult> {
    let Some(tie_break) = TieBreak::named(tie_break) else {
        let known: Vec<&str> = core::TIE_BREAKS.iter().map(|(name, _)| *name).collect();
        return Err(PyValueError::new_err(format!("tie_break must be one of {known:?}, not {tie_break:?}")));
    };
    let limits = limits(py, max_token_bytes, max_token_chars, forbid)?;
    let replay = replay.into_iter().map(|(left, right, special)| Replayed { left, right, special }).collect();
    let options = Options { n_merges, tie_break, min_count, limits, require, specials, replay };
    let inner = run_reporting(py, progress, "merge", |report| core::train(&counts.inner, &options, report))?;
    Ok(TrainResult { inner })
}

fn limits(py: Python<'_>, max_bytes: u32, max_chars: u32, forbid: Option<&str>) -> PyResult<TokenLimits> {
    TokenLimits::new(max_bytes, max_chars, forbid).map_err(|error| exception(py, &error))
}

type Frequent<'py> = (Vec<Bound<'py, PyBytes>>, Vec<u64>, Vec<(Bound<'py, PyBytes>, &'static str, u64)>);

/// The most frequent pieces.
#[pyfunction]
#[pyo3(signature = (counts, n, *, min_count=2, max_token_bytes=0, max_token_chars=0, forbid=None, require=Vec::new()))]
#[expect(clippy::too_many_arguments, reason = "keyword-only options of one Python call")]
pub fn frequent_pieces<'py>(
    py: Python<'py>,
    counts: &Counts,
    n: usize,
    min_count: u64,
    max_token_bytes: u32,
    max_token_chars: u32,
    forbid: Option<&str>,
    require: Vec<Vec<u8>>,
) -> PyResult<Frequent<'py>> {
    let limits = limits(py, max_token_bytes, max_token_chars, forbid)?;
    let (tokens, numbers, refused) =
        run(py, || Ok(core::frequent_pieces(&counts.inner, n, min_count, &limits, &require)))?;
    let refused = refused.into_iter().map(|one| (PyBytes::new(py, &one.token), one.option, one.count)).collect();
    Ok((tokens.iter().map(|token| PyBytes::new(py, token)).collect(), numbers, refused))
}
