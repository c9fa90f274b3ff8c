//! A binary heap whose order is asked of the caller: ties may need the token bytes, which the heap does not own.

/// The greatest element first, by `before(a, b)`, a strict total order given at each call.
pub(super) struct Heap<T> {
    items: Vec<T>,
}

impl<T: Copy> Heap<T> {
    /// Orders `items` in linear time.
    pub fn new(items: Vec<T>, before: impl Fn(&T, &T) -> bool) -> Self {
        let mut heap = Self { items };
        for at in (0..heap.items.len() / 2).rev() {
            heap.sink(at, &before);
        }
        heap
    }

    pub fn push(&mut self, item: T, before: impl Fn(&T, &T) -> bool) {
        let mut at = self.items.len();
        self.items.push(item);
        while at > 0 {
            let parent = (at - 1) / 2;
            if !before(&item, &self.items[parent]) {
                break;
            }
            self.items[at] = self.items[parent];
            at = parent;
        }
        self.items[at] = item;
    }

    pub fn pop(&mut self, before: impl Fn(&T, &T) -> bool) -> Option<T> {
        let last = self.items.pop()?;
        let Some(top) = self.items.first().copied() else { return Some(last) };
        self.items[0] = last;
        self.sink(0, &before);
        Some(top)
    }

    fn sink(&mut self, mut at: usize, before: &impl Fn(&T, &T) -> bool) {
        let item = self.items[at];
        loop {
            let mut child = 2 * at + 1;
            if child >= self.items.len() {
                break;
            }
            if child + 1 < self.items.len() && before(&self.items[child + 1], &self.items[child]) {
                child += 1;
            }
            if !before(&self.items[child], &item) {
                break;
            }
            self.items[at] = self.items[child];
            at = child;
        }
        self.items[at] = item;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pops_in_order(first in prop::collection::vec(0u32..50, 0..40), later in prop::collection::vec(0u32..50, 0..40)) {
            let before = |a: &u32, b: &u32| a > b;
            let mut heap = Heap::new(first.clone(), before);
            let mut want = first;
            for item in later {
                heap.push(item, before);
                want.push(item);
            }
            want.sort_unstable_by(|a, b| b.cmp(a));
            let got: Vec<u32> = std::iter::from_fn(|| heap.pop(before)).collect();
            prop_assert_eq!(got, want);
        }
    }
}
