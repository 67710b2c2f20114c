//! Pairwise graphs: a label for every node, weights for (node feature, label) and (edge feature,
//! label, label). The argmax is exact: dynamic programming where a graph is a forest, a minimum cut
//! where there are two labels and every edge rewards agreement. Other graphs are refused. The loss
//! counts wrong nodes.

use super::max_flow::Network;
use super::{Scores, StructuredModel};

/// A labelled graph.
#[derive(Debug, Clone)]
pub struct LabelledGraph {
    /// Features of the nodes, one node after the other.
    pub nodes: Vec<f64>,
    /// The nodes that each edge joins.
    pub edges: Vec<(u32, u32)>,
    /// Features of the edges, one edge after the other.
    pub edge_features: Vec<f64>,
    /// The label of each node.
    pub labels: Box<[u16]>,
}

/// How weights are laid out: node feature · K + label, then (edge feature · K + first label) · K +
/// second label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GraphShape {
    /// Features of a node.
    pub node_features: usize,
    /// Features of an edge.
    pub edge_features: usize,
    /// Number of labels K.
    pub labels: usize,
}

/// Labelled graphs.
#[derive(Debug)]
pub struct Graphs {
    shape: GraphShape,
    graphs: Vec<LabelledGraph>,
    /// For each graph that is a forest: its order.
    orders: Vec<Option<Order>>,
}

/// The nodes of a forest, parents before children, each with the edge to its parent.
type Order = Vec<(u32, Option<u32>)>;

/// Edges count as rewarding agreement up to rounding of this relative size.
const ROUNDING: f64 = 1e-12;

impl Graphs {
    /// Graphs of one shape; one sentence where they do not fit it, or where the best labels of one
    /// cannot be found exactly.
    pub fn new(shape: GraphShape, graphs: Vec<LabelledGraph>) -> Result<Self, String> {
        if shape.labels == 0 || shape.labels > 1 << 16 {
            return Err(format!("expected from 1 to 65536 labels, found {}", shape.labels));
        }
        let mut orders = Vec::with_capacity(graphs.len());
        for (at, graph) in graphs.iter().enumerate() {
            let nodes = graph.labels.len();
            let fits = graph.nodes.len() == nodes * shape.node_features
                && graph.edge_features.len() == graph.edges.len() * shape.edge_features
                && graph.labels.iter().all(|&label| (label as usize) < shape.labels)
                && graph.edges.iter().all(|&(a, b)| a != b && (a.max(b) as usize) < nodes);
            if !fits {
                return Err(format!(
                    "the nodes, edges, features and labels of graph {at} do not fit together"
                ));
            }
            let order = forest(nodes, &graph.edges);
            if order.is_none() && shape.labels != 2 {
                return Err(format!(
                    "graph {at} has a cycle and there are {} labels: the best labels can be found exactly on trees, or where there are two labels",
                    shape.labels
                ));
            }
            orders.push(order);
        }
        Ok(Graphs { shape, graphs, orders })
    }

    fn edge_weights(&self) -> usize {
        self.shape.node_features * self.shape.labels
    }

    /// The scores of the labels of each node.
    fn node_scores(&self, example: usize, w: &[f64]) -> Vec<f64> {
        let k = self.shape.labels;
        let mut scores = vec![0.0; self.graphs[example].labels.len() * k];
        let features = self.shape.node_features.max(1);
        for (x, scores) in
            self.graphs[example].nodes.chunks_exact(features).zip(scores.chunks_exact_mut(k))
        {
            for (x, w) in x.iter().zip(w.chunks_exact(k)) {
                scores.iter_mut().zip(w).for_each(|(score, w)| *score += x * w);
            }
        }
        scores
    }

    /// The scores of the label pairs of an edge.
    fn edge_scores(&self, example: usize, edge: usize, w: &[f64]) -> Vec<f64> {
        let k = self.shape.labels;
        let mut scores = vec![0.0; k * k];
        let (features, e) = (&self.graphs[example].edge_features, self.shape.edge_features);
        let weights = w[self.edge_weights()..].chunks_exact(k * k);
        for (x, w) in features[edge * e..(edge + 1) * e].iter().zip(weights) {
            scores.iter_mut().zip(w).for_each(|(score, w)| *score += x * w);
        }
        scores
    }

    /// The best labels; the score may have the loss added.
    fn label(&self, example: usize, w: &[f64], with_loss: bool) -> Box<[u16]> {
        let k = self.shape.labels;
        let mut nodes = self.node_scores(example, w);
        if with_loss {
            for (scores, &truth) in nodes.chunks_exact_mut(k).zip(&self.graphs[example].labels) {
                for (label, score) in scores.iter_mut().enumerate() {
                    *score += f64::from(u8::from(label != truth as usize));
                }
            }
        }
        match &self.orders[example] {
            Some(order) => self.on_forest(example, order, nodes, w),
            None => self.by_cut(example, &nodes, w),
        }
    }

    /// From the leaves to the roots, and back.
    fn on_forest(
        &self,
        example: usize,
        order: &[(u32, Option<u32>)],
        mut scores: Vec<f64>,
        w: &[f64],
    ) -> Box<[u16]> {
        let k = self.shape.labels;
        let first = |count: usize, value: &dyn Fn(usize) -> f64| {
            (1..count).fold(0, |top, z| if value(z) > value(top) { z } else { top })
        };
        let mut choices = vec![Vec::new(); order.len()];
        for &(node, up) in order.iter().rev() {
            let Some(edge) = up else { continue };
            let (node, (a, b)) = (node as usize, self.graphs[example].edges[edge as usize]);
            let table = self.edge_scores(example, edge as usize, w);
            let parent = if a as usize == node { b } else { a } as usize;
            let pair = |z: usize, of_parent: usize| match a as usize == node {
                true => table[z * k + of_parent],
                false => table[of_parent * k + z],
            };
            let mut choice = Vec::with_capacity(k);
            for of_parent in 0..k {
                let total = |z: usize| scores[node * k + z] + pair(z, of_parent);
                let best = first(k, &total);
                choice.push((best as u16, total(best)));
            }
            for (of_parent, (_, total)) in choice.iter().enumerate() {
                scores[parent * k + of_parent] += total;
            }
            choices[node] = choice;
        }
        let mut labels = vec![0u16; order.len()];
        for &(node, up) in order {
            let node = node as usize;
            labels[node] = match up {
                None => first(k, &|z| scores[node * k + z]) as u16,
                Some(edge) => {
                    let (a, b) = self.graphs[example].edges[edge as usize];
                    let parent = if a as usize == node { b } else { a };
                    choices[node][labels[parent as usize] as usize].0
                }
            };
        }
        labels.into()
    }

    /// Two labels: nodes on the sink's side of a minimum cut have the second one.
    fn by_cut(&self, example: usize, nodes: &[f64], w: &[f64]) -> Box<[u16]> {
        let count = self.graphs[example].labels.len();
        let (source, sink) = (count, count + 1);
        let mut network = Network::new(count + 2);
        // What the second label costs more than the first one.
        let mut costs: Vec<f64> = nodes.chunks_exact(2).map(|s| s[0] - s[1]).collect();
        for (edge, &(a, b)) in self.graphs[example].edges.iter().enumerate() {
            let [same, a_first, b_first, both] = self.edge_table(example, edge, w);
            costs[a as usize] += same - b_first;
            costs[b as usize] += b_first - both;
            let disagreement = same + both - a_first - b_first;
            network.add(a as usize, b as usize, disagreement.max(0.0), 0.0);
        }
        for (node, &cost) in costs.iter().enumerate() {
            if cost > 0.0 {
                network.add(source, node, cost, 0.0);
            } else {
                network.add(node, sink, -cost, 0.0);
            }
        }
        let side = network.sink_side(source, sink);
        (0..count).map(|node| u16::from(side[node])).collect()
    }

    /// The scores of an edge with two labels: (0, 0), (0, 1), (1, 0), (1, 1).
    fn edge_table(&self, example: usize, edge: usize, w: &[f64]) -> [f64; 4] {
        let scores = self.edge_scores(example, edge, w);
        [scores[0], scores[1], scores[2], scores[3]]
    }
}

/// The nodes of a forest, parents before children; nothing where there is a cycle.
fn forest(nodes: usize, edges: &[(u32, u32)]) -> Option<Order> {
    let mut meeting = vec![Vec::new(); nodes];
    for (edge, &(a, b)) in edges.iter().enumerate() {
        meeting[a as usize].push((edge as u32, b));
        meeting[b as usize].push((edge as u32, a));
    }
    let mut seen = vec![false; nodes];
    let mut order = Vec::with_capacity(nodes);
    for root in 0..nodes as u32 {
        if seen[root as usize] {
            continue;
        }
        seen[root as usize] = true;
        let mut next = order.len();
        order.push((root, None));
        while next < order.len() {
            let (node, up) = order[next];
            next += 1;
            for &(edge, other) in meeting[node as usize].iter().filter(|m| Some(m.0) != up) {
                if std::mem::replace(&mut seen[other as usize], true) {
                    return None;
                }
                order.push((other, Some(edge)));
            }
        }
    }
    Some(order)
}

impl StructuredModel for Graphs {
    type Output = Box<[u16]>;

    fn dim(&self) -> usize {
        let k = self.shape.labels;
        self.edge_weights() + self.shape.edge_features * k * k
    }

    fn len(&self) -> usize {
        self.graphs.len()
    }

    fn truth(&self, example: usize) -> &Self::Output {
        &self.graphs[example].labels
    }

    fn for_each_feature(
        &self,
        example: usize,
        output: &Self::Output,
        mut each: impl FnMut(usize, f64),
    ) {
        let (graph, k) = (&self.graphs[example], self.shape.labels);
        let features = self.shape.node_features;
        for (node, &label) in output.iter().enumerate() {
            let x = &graph.nodes[node * features..(node + 1) * features];
            x.iter().enumerate().for_each(|(j, &x)| each(j * k + label as usize, x));
        }
        let features = self.shape.edge_features;
        for (edge, &(a, b)) in graph.edges.iter().enumerate() {
            let pair = output[a as usize] as usize * k + output[b as usize] as usize;
            let x = &graph.edge_features[edge * features..(edge + 1) * features];
            let at = |j: usize| self.edge_weights() + j * k * k + pair;
            x.iter().enumerate().for_each(|(j, &x)| each(at(j), x));
        }
    }

    fn loss(&self, example: usize, output: &Self::Output) -> f64 {
        self.truth(example).iter().zip(output).filter(|(a, b)| a != b).count() as f64
    }

    fn worst(&self, example: usize, scores: Scores<'_>) -> Self::Output {
        self.label(example, scores.shared, true)
    }

    fn best(&self, example: usize, scores: Scores<'_>) -> Self::Output {
        self.label(example, scores.shared, false)
    }

    fn refusal(&self, shared: &[f64]) -> Option<String> {
        let cyclic = (0..self.graphs.len()).filter(|&at| self.orders[at].is_none());
        for example in cyclic {
            for edge in 0..self.graphs[example].edges.len() {
                let table = self.edge_table(example, edge, shared);
                let size: f64 = table.iter().map(|score| score.abs()).sum();
                if table[0] + table[3] < table[1] + table[2] - ROUNDING * size {
                    return Some(format!(
                        "edge {edge} of graph {example}, which has a cycle, rewards disagreement at these weights, so that its best labels cannot be found exactly; other edge features, a larger lambda or graphs without cycles would do"
                    ));
                }
            }
        }
        None
    }

    fn encode(&self, output: &Self::Output) -> Option<Vec<u32>> {
        Some(output.iter().map(|&label| u32::from(label)).collect())
    }

    fn decode(&self, example: usize, code: &[u32]) -> Option<Self::Output> {
        let fits = code.len() == self.graphs[example].labels.len()
            && code.iter().all(|&label| (label as usize) < self.shape.labels);
        fits.then(|| code.iter().map(|&label| label as u16).collect())
    }
}
