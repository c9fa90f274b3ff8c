//! Bytes and lengths of the tokens made so far.

/// Grows by one token a merge; internal id 0..255 are the bytes.
pub(super) struct TokenTable {
    blob: Vec<u8>,
    start: Vec<usize>,
    /// Bytes of each token, apart from the blob: the merge loop reads little else.
    pub len_of: Vec<u32>,
}

impl TokenTable {
    pub fn new() -> Self {
        Self { blob: (0..=255).collect(), start: (0..=256).collect(), len_of: vec![1; 256] }
    }

    pub fn len(&self) -> u32 {
        self.len_of.len() as u32
    }

    pub fn bytes(&self, id: u32) -> &[u8] {
        &self.blob[self.start[id as usize]..self.start[id as usize + 1]]
    }

    /// The bytes that a merge of two tokens would have.
    pub fn joined(&self, left: u32, right: u32) -> Vec<u8> {
        [self.bytes(left), self.bytes(right)].concat()
    }

    pub fn push(&mut self, left: u32, right: u32) -> u32 {
        let joined = self.joined(left, right);
        self.blob.extend_from_slice(&joined);
        self.start.push(self.blob.len());
        self.len_of.push(self.len_of[left as usize] + self.len_of[right as usize]);
        self.len() - 1
    }
}
