//! Encoding with BPE-dropout: merges are skipped at random, so that a model sees several encodings of a text.
//!
//! A path of its own beside the hot loop: a sampled encoding must not come from a cache, nor enter one. The random numbers of
//! a document are those of SplitMix64 (Steele, Lea and Flood, 2014) whose state begins as the first 8 bytes, little-endian,
//! of sha256(seed, epoch, text), the two numbers as 8 bytes each. So the ids of a document depend on nothing else: not on the
//! threads, and not on the documents around it. The n-th piece takes its numbers after those of the pieces before it.

use std::sync::Mutex;

use sha2::{Digest, Sha256};

use super::batch::{EncodedDocuments, Frame, offset};
use super::{Encoder, TokenId};
use crate::merge::pair_table::PairTable;
use crate::merge::{byte_ids, merge_with_dropout};
use crate::parallel::{ReportProgress, WorkPlan, for_each_batch, lock, thread_count};
use crate::{Error, Result, interrupt};

/// Pieces that are scanned at once.
const SCANNED_PIECES: usize = 256;

/// What decides the random numbers, beside the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropout {
    /// Another seed gives other encodings.
    pub seed: u64,
    /// So does another epoch.
    pub epoch: u64,
}

impl Dropout {
    fn generator(self, text: &[u8]) -> SplitMix64 {
        let digest: [u8; 32] = Sha256::new()
            .chain_update(self.seed.to_le_bytes())
            .chain_update(self.epoch.to_le_bytes())
            .chain_update(text)
            .finalize()
            .into();
        SplitMix64(u64::from_le_bytes(*digest.first_chunk().unwrap_or(&[0; 8])))
    }
}

struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Uniform in [0, 1), in steps of 2^-53.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit the mantissa")]
    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// The ids of the documents of one batch, and where each of them ends.
type Sampled<I> = (Vec<I>, Vec<usize>);

impl Encoder {
    /// The ids of documents, each encoded with the probability of its own in `rates` that a merge is skipped: 0 is encoding by
    /// merges, 1 gives the bytes.
    ///
    /// # Errors
    /// An encoder without merges, rates that are no probabilities or not one for each document, and those of
    /// [`Encoder::encode_batch`].
    pub fn encode_with_dropout<I: TokenId>(
        &self,
        documents: &[&[u8]],
        rates: &[f64],
        dropout: Dropout,
        threads: usize,
        frame: Frame,
        report: ReportProgress<'_>,
    ) -> Result<EncodedDocuments<I>> {
        self.check_frame(frame)?;
        let wrong = rates.iter().find(|rate| !(0.0..=1.0).contains(*rate)).map(f64::to_string);
        if wrong.is_some() || rates.len() != documents.len() {
            let limit = format!("{} probabilities, one for each document", documents.len());
            return Err(Error::InvalidOption {
                option: "dropout",
                value: wrong.unwrap_or(rates.len().to_string()),
                limit,
            });
        }
        let Some(merges) = self.piece_encoder.merges() else {
            let limit = "a vocabulary with merges".to_owned();
            return Err(Error::InvalidOption {
                option: "dropout",
                value: "a vocabulary without merges".to_owned(),
                limit,
            });
        };
        let pairs = PairTable::new(merges);
        let mut plan = WorkPlan::of_whole_documents(&self.pattern, documents);
        plan.is_slow |= self.pattern.is_custom();
        let mut workers = vec![(); thread_count(threads, plan.batches.len())];
        let batches: Mutex<Vec<Option<Sampled<I>>>> = Mutex::new(plan.batches.iter().map(|_| None).collect());
        for_each_batch(&plan, &mut workers, report, |(), batch| {
            let (mut ids, mut ends) = (Vec::new(), Vec::new());
            for span in &plan.spans[plan.batches[batch].clone()] {
                let text = documents[span.document];
                ids.extend(frame.bos.map(I::from_id));
                self.sample(&pairs, text, rates[span.document], dropout.generator(text), &mut ids)?;
                ids.extend(frame.eos.map(I::from_id));
                ends.push(ids.len());
            }
            lock(&batches)?[batch] = Some((ids, ends));
            Ok(())
        })?;
        let mut joined = EncodedDocuments { ids: Vec::new(), offsets: vec![0] };
        for (ids, ends) in batches.into_inner().map_err(|_| Error::Poisoned)?.into_iter().flatten() {
            joined.offsets.extend(ends.into_iter().map(|end| offset(joined.ids.len() + end)));
            joined.ids.extend(ids);
        }
        Ok(joined)
    }

    /// Appends the ids of one text.
    fn sample<I: TokenId>(
        &self,
        pairs: &PairTable,
        text: &[u8],
        rate: f64,
        mut random: SplitMix64,
        out: &mut Vec<I>,
    ) -> Result<()> {
        let (mut scanner, mut start, mut ends) = (self.pattern.scanner(), 0, [0; SCANNED_PIECES]);
        let mut ids = Vec::new();
        while start < text.len() {
            interrupt::check()?;
            let scanned = scanner.fill(text, start, &mut ends)?;
            for &end in &ends[..scanned] {
                byte_ids(&text[start..end], &mut ids)?;
                merge_with_dropout(pairs, &mut ids, || random.uniform() < rate)?;
                self.to_public_ids(&ids, |id| out.push(id));
                start = end;
            }
        }
        Ok(())
    }
}
