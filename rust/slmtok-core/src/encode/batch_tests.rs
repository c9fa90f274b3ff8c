//! Batches of any size on any number of threads give what documents give one by one; caches change nothing.

use proptest::prelude::*;

use super::*;
use crate::encode::news::Post;
use crate::merges::Merges;
use crate::parallel::no_progress;
use crate::pretoken::{Pattern, names};

fn encoder(pattern: &Pattern, first: u32) -> Encoder {
    let merges = Merges::new(vec![(97, 97), (256, 98), (32, 257), (0xE4, 0xB8), (49, 50), (10, 32)]).unwrap();
    let external = (0..merges.tokens().len() as u32).map(|id| id + first).collect();
    Encoder::from_merges(pattern.clone(), merges, external, vec![(1, b"<s>".to_vec())], Vec::new()).unwrap()
}

/// Documents cut into batches of `size`, on `threads` threads, equal documents encoded one by one.
fn check<I: Pooled>(encoder: &Encoder, documents: &[&[u8]], size: usize, threads: usize) {
    let plan = WorkPlan::in_batches(encoder.pattern(), documents, size);
    let frame = Frame { bos: Some(1), eos: Some(1) };
    let batch = encoder.encode_plan::<I>(&plan, documents, threads, frame, &mut no_progress).unwrap();
    assert_eq!(batch.offsets.len(), documents.len() + 1);
    for (document, bounds) in documents.iter().zip(batch.offsets.windows(2)) {
        let mut want = vec![I::from_id(1)];
        want.extend(encoder.encode::<I>(document).unwrap());
        want.push(I::from_id(1));
        assert_eq!(batch.ids[bounds[0] as usize..bounds[1] as usize], want);
    }
}

#[test]
fn very_long_pieces_are_remembered_the_second_time() {
    let encoder = encoder(&Pattern::new("gpt2").unwrap(), 16);
    for length in [1 << 10, 1 << 13, 1 << 20] {
        let text = "ab".repeat(length / 2);
        let mut found = Vec::new();
        let before = encoder.stats()[1].1;
        for _ in 0..4 {
            found.push(encoder.encode::<u16>(text.as_bytes()).unwrap());
        }
        assert!(found.windows(2).all(|pair| pair[0] == pair[1]));
        assert_eq!(encoder.stats()[1].1 - before, if length > 4096 { 2 } else { 1 }, "{length}");
    }
}

#[test]
fn a_new_thread_knows_what_one_learned_where_the_text_is_long() {
    let encoder = encoder(&Pattern::new("gpt2").unwrap(), 16);
    let text: String = (0..3000).map(|word| format!(" w{word}")).collect();
    let misses_of_a_joiner = |bytes| {
        let mut workers = encoder.take_workers::<u16>(2, bytes);
        let [_, joiner] = &mut workers[..] else { unreachable!("two were asked for") };
        joiner.encode_and(&encoder, text.as_bytes(), <[u16]>::len).unwrap();
        let misses = joiner.misses;
        // Only the first goes back, so that the next joiner is new.
        encoder.return_workers(workers.into_iter().take(1).collect());
        misses
    };
    assert_eq!(misses_of_a_joiner(usize::MAX), 3001, "there was nothing to know");
    encoder.encode::<u16>(text.as_bytes()).unwrap();
    assert_eq!(misses_of_a_joiner(text.len()), 3001, "copying would take longer than it saves");
    assert_eq!(misses_of_a_joiner(usize::MAX), 0);
}

#[test]
fn what_one_worker_merged_no_other_merges() {
    let encoder = encoder(&Pattern::new("cl100k").unwrap(), 16);
    // Words with a key, words without, and clauses, which are remembered when they come again.
    let text = |word: &str| {
        let words = (0..2000).map(|n| format!(" {word}{} {word}{}", "x".repeat(n % 9), "y".repeat(n / 20)));
        words.chain((0..2000).map(|n| format!("。{}中", "中文".repeat(n % 50)))).collect::<String>()
    };
    let texts = [text("one"), text("other")];
    let mut workers = encoder.take_workers::<u16>(2, usize::MAX);
    let misses = |worker: &mut Worker<u16>, text: usize| {
        let before = worker.misses;
        (worker.encode_and(&encoder, texts[text].as_bytes(), <[u16]>::to_vec).unwrap(), worker.misses - before)
    };
    let (first, second) = (misses(&mut workers[0], 0), misses(&mut workers[1], 1));
    assert!(first.1 > 100 && second.1 > 100, "{} {}", first.1, second.1);
    // As when they are put back and taken again, however few may wait on this machine.
    workers.iter_mut().for_each(|worker| worker.post.part());
    Post::join(workers.iter_mut().map(|worker| &mut worker.post), usize::MAX);
    assert!(misses(&mut workers[1], 0) == (first.0, 0) && misses(&mut workers[0], 1) == (second.0, 0));
}

#[test]
fn threads_that_tell_each_other_give_what_one_gives() {
    let fresh = || encoder(&Pattern::new("cl100k").unwrap(), 16);
    // Words with a key, words without, and clauses; each document has most of them, in another order.
    let document = |times: usize| -> String {
        let words =
            (0..20_000_usize).map(|n| n * times % 20_011).map(|n| (n, format!("{n:x}").replace(char::is_numeric, "b")));
        words.map(|(n, word)| format!(" {word}a{}。{}中", "ab".repeat(n % 20), "中文".repeat(n % 30))).collect()
    };
    let texts: Vec<String> = (1..9).map(|k| document(k * 37)).collect();
    let documents: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
    let encode = |encoder: &Encoder, threads| {
        encoder.encode_batch::<u32>(&documents, threads, Frame::default(), &mut no_progress).unwrap()
    };
    let (want, many) = (encode(&fresh(), 1), fresh());
    assert!([4, 4, 1, 2].into_iter().all(|threads| encode(&many, threads) == want));
}

proptest! {
    #[test]
    fn batches_of_any_size_on_any_threads_give_the_same(
        texts in prop::collection::vec("[ab 12\n'.中Á]{0,200}", 0..6), size in 1usize..300, pattern in 0usize..6, threads in 1usize..8,
    ) {
        let pattern = Pattern::new(names()[pattern]).unwrap();
        let documents: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
        check::<u16>(&encoder(&pattern, 16), &documents, size, threads);
        check::<u32>(&encoder(&pattern, 70_000), &documents, size, threads);
    }
}
