//! Documents that are made give the ids of those that are there, on any number of threads; what fails ends all.

use proptest::prelude::*;

use super::*;
use crate::merges::Merges;
use crate::parallel::no_progress;
use crate::pretoken::Pattern;

fn encoder() -> Encoder {
    let merges = Merges::new(vec![(97, 97), (256, 98), (32, 257), (0xE4, 0xB8)]).unwrap();
    let external = (0..merges.tokens().len() as u32).collect();
    Encoder::from_merges(Pattern::new("gpt2").unwrap(), merges, external, vec![(900, b"<s>".to_vec())], Vec::new())
        .unwrap()
}

/// Every text whose number `made` holds is made.
fn described<'a>(texts: &'a [String], made: impl Fn(usize) -> bool) -> Vec<Document<'a>> {
    let describe = |(index, text): (usize, &'a String)| match made(index) {
        true => Document::Points(text.chars().count()),
        false => Document::Bytes(text.as_bytes()),
    };
    texts.iter().enumerate().map(describe).collect()
}

fn make(text: &str, made: &mut Utf8) -> Result<()> {
    let points: Vec<u32> = text.chars().map(u32::from).collect();
    made.push(&points).map_err(|_| Error::Interrupted)
}

fn forty() -> Vec<String> {
    (0..40).map(|_| "aab ".repeat(60_000)).collect()
}

const FRAME: Frame = Frame { bos: Some(900), eos: Some(900) };

fn check(texts: &[String], made: impl Fn(usize) -> bool + Copy) {
    let encoder = encoder();
    let slices: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
    let want = encoder.encode_batch::<u16>(&slices, 1, FRAME, &mut no_progress).unwrap();
    let documents = described(texts, made);
    for threads in [1, 2, 5] {
        let (mut told, mut asked) = (Vec::new(), Vec::new());
        let found = encoder
            .encode_made::<u16>(
                &documents,
                threads,
                FRAME,
                &mut |index, made| {
                    asked.push(index);
                    make(&texts[index], made)
                },
                &mut |done| {
                    told.push(done);
                    Ok(())
                },
            )
            .unwrap();
        assert_eq!(found, want, "{threads} threads");
        assert!(asked.iter().copied().eq((0..texts.len()).filter(|&index| made(index))), "each once, in order");
        assert!(told.is_sorted());
        assert_eq!(told.last().copied().unwrap_or(0), documents.iter().map(Document::share).sum::<u64>());
    }
}

#[test]
fn many_portions_and_documents_of_several_batches() {
    let word = |seed: usize| ["aab", " aa", "中", "é", "\n", " 12"][seed * 7919 % 6];
    let text = |words: usize| (0..words).map(word).collect::<String>();
    let sizes = [900_000, 3, 0, 200_000, 2_000_000, 1, 400_000, 0, 700_000];
    let texts: Vec<String> = sizes.map(text).into();
    check(&texts, |index| index % 2 == 0);
    check(&texts, |_| true);
    check(&texts, |_| false);
}

#[test]
fn a_document_that_cannot_be_made_ends_all() {
    let texts = forty();
    let documents = described(&texts, |_| true);
    for (threads, bad) in [(1, 0), (1, 39), (2, 0), (2, 20), (4, 39)] {
        let mut asked = 0;
        let failed = encoder().encode_made::<u16>(
            &documents,
            threads,
            FRAME,
            &mut |index, made| {
                asked = index;
                if index == bad { Err(Error::Interrupted) } else { make(&texts[index], made) }
            },
            &mut no_progress,
        );
        assert!(matches!(failed, Err(Error::Interrupted)) && asked == bad);
    }
}

#[test]
fn a_report_that_fails_ends_all() {
    let texts = forty();
    let documents = described(&texts, |_| true);
    for threads in [1, 2] {
        let mut asked = 0;
        let failed = encoder().encode_made::<u16>(
            &documents,
            threads,
            FRAME,
            &mut |index, made| {
                asked = index;
                make(&texts[index], made)
            },
            &mut |_| Err(Error::Interrupted),
        );
        assert!(matches!(failed, Err(Error::Interrupted)) && asked < 30);
    }
}

#[test]
#[should_panic(expected = "made to fail")]
fn a_panic_while_making_ends_all() {
    let texts = forty();
    let documents = described(&texts, |_| true);
    let _ = encoder().encode_made::<u16>(
        &documents,
        3,
        FRAME,
        &mut |index, made| {
            assert!(index < 20, "made to fail");
            make(&texts[index], made)
        },
        &mut no_progress,
    );
}

#[test]
fn a_panic_of_another_thread_keeps_its_words() {
    // No place for the ids of the first batch that is finished, whoever finishes it.
    let (encoder, text) = (encoder(), "aab ".repeat(600_000));
    let documents = [Document::Bytes(text.as_bytes()); 4];
    let mut workers = encoder.take_workers::<u16>(3, 0);
    let made = std::panic::AssertUnwindSafe(|| {
        let (mut make, mut tell) = (|_: usize, _: &mut Utf8| Ok(()), no_progress);
        encoder.made_shared(&documents, FRAME, &mut make, &mut workers, &mut [], &mut tell)
    });
    let panic = std::panic::catch_unwind(made).unwrap_err();
    let words =
        panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
    assert!(words.is_some_and(|words| words.contains("mid")), "the words of the first panic");
}

proptest! {
    #[test]
    fn small_texts_of_both_kinds(texts in prop::collection::vec("[ab 12\n'.中Á]{0,60}", 0..9), kinds in any::<u16>()) {
        check(&texts, |index| kinds >> index & 1 == 1);
    }
}
