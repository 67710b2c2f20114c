//! The maximum flow of a network, by Dinic's method: shortest augmenting paths, all those of one
//! length at a time. What the minimum cut means is told elsewhere.

/// A network in the making: nodes, the source and the sink among them, and arcs with capacities.
#[derive(Debug)]
pub(super) struct Network {
    /// The arcs that leave each node; an arc's opposite is its neighbour, `arc ^ 1`.
    leaving: Vec<Vec<u32>>,
    heads: Vec<u32>,
    residuals: Vec<f64>,
}

impl Network {
    pub(super) fn new(nodes: usize) -> Self {
        Network { leaving: vec![Vec::new(); nodes], heads: Vec::new(), residuals: Vec::new() }
    }

    /// Adds an arc, and one in the opposite direction with a capacity of its own.
    pub(super) fn add(&mut self, from: usize, to: usize, capacity: f64, back: f64) {
        for (from, to, capacity) in [(from, to, capacity), (to, from, back)] {
            self.leaving[from].push(self.heads.len() as u32);
            self.heads.push(to as u32);
            self.residuals.push(capacity);
        }
    }

    /// Sends as much as possible from `source` to `sink`, and returns the smallest set of nodes on
    /// the sink's side of a minimum cut: those from which something could still be sent there.
    pub(super) fn sink_side(mut self, source: usize, sink: usize) -> Vec<bool> {
        loop {
            let levels = self.levels(sink);
            if levels[source] == usize::MAX {
                return levels.into_iter().map(|level| level != usize::MAX).collect();
            }
            self.block(source, sink, &levels);
        }
    }

    /// The number of arcs with something left from each node to the sink.
    fn levels(&self, sink: usize) -> Vec<usize> {
        let mut levels = vec![usize::MAX; self.leaving.len()];
        let mut queue = vec![sink];
        levels[sink] = 0;
        let mut next = 0;
        while next < queue.len() {
            let node = queue[next];
            next += 1;
            for &arc in &self.leaving[node] {
                let tail = self.heads[arc as usize] as usize;
                if levels[tail] == usize::MAX && self.residuals[arc as usize ^ 1] > 0.0 {
                    levels[tail] = levels[node] + 1;
                    queue.push(tail);
                }
            }
        }
        levels
    }

    /// Sends along shortest paths until none of them has anything left.
    fn block(&mut self, source: usize, sink: usize, levels: &[usize]) {
        let mut tried = vec![0usize; self.leaving.len()];
        let mut path: Vec<usize> = Vec::new();
        let mut node = source;
        loop {
            if node == sink {
                let least = path.iter().map(|&arc| self.residuals[arc]).fold(f64::MAX, f64::min);
                for &arc in &path {
                    self.residuals[arc] -= least;
                    self.residuals[arc ^ 1] += least;
                }
                // On from the first arc that is used up.
                let used_up = path.iter().position(|&arc| self.residuals[arc] <= 0.0);
                path.truncate(used_up.unwrap_or(0));
                node = path.last().map_or(source, |&arc| self.heads[arc] as usize);
                continue;
            }
            let leads_on = |&&arc: &&u32| {
                let head = self.heads[arc as usize] as usize;
                let nearer = levels[head] != usize::MAX && levels[head] + 1 == levels[node];
                nearer && self.residuals[arc as usize] > 0.0
            };
            let rest = &self.leaving[node][tried[node]..];
            match rest.iter().position(|arc| leads_on(&arc)) {
                Some(skipped) => {
                    tried[node] += skipped;
                    let arc = self.leaving[node][tried[node]] as usize;
                    path.push(arc);
                    node = self.heads[arc] as usize;
                }
                None => {
                    tried[node] = self.leaving[node].len();
                    // A dead end: back, and past the arc that led here.
                    let Some(arc) = path.pop() else { return };
                    node = self.heads[arc ^ 1] as usize;
                    tried[node] += 1;
                }
            }
        }
    }
}
