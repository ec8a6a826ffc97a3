//! Directed graphs of modules: strongly connected components, cycles and layers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;

/// Dependencies between the modules of one library or binary.
#[derive(Debug, Default)]
pub struct ModuleGraph {
    /// `lib`, or the name of the binary.
    pub target: String,
    pub modules: Vec<Node>,
    /// Edges from a module to a module that it depends on, with the first line that names an item of it.
    pub edges: BTreeMap<(usize, usize), Site>,
}

/// A module.
#[derive(Debug)]
pub struct Node {
    pub name: String,
    pub file: PathBuf,
}

/// Position in a source file that causes an edge.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    pub line: usize,
    /// Path as written.
    pub path: String,
}

impl ModuleGraph {
    /// Adds an edge. Keeps the first position if the edge exists.
    pub fn add(&mut self, from: usize, to: usize, site: Site) {
        if from != to {
            let known = self.edges.entry((from, to)).or_insert_with(|| site.clone());
            *known = known.clone().min(site);
        }
    }

    fn successors(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        self.edges.range((node, 0)..=(node, usize::MAX)).map(|((_, to), _)| *to)
    }

    fn reachable(&self, start: usize) -> BTreeSet<usize> {
        let (mut seen, mut open) = (BTreeSet::new(), vec![start]);
        while let Some(node) = open.pop() {
            for next in self.successors(node) {
                if seen.insert(next) {
                    open.push(next);
                }
            }
        }
        seen
    }

    /// Returns the index of the strongly connected component of each module.
    fn components(&self) -> Vec<usize> {
        let reach: Vec<BTreeSet<usize>> = (0..self.modules.len()).map(|node| self.reachable(node)).collect();
        let mut component: Vec<usize> = (0..self.modules.len()).collect();
        for node in 0..self.modules.len() {
            let equal = (0..node).find(|other| reach[node].contains(other) && reach[*other].contains(&node));
            component[node] = equal.map_or(node, |other| component[other]);
        }
        component
    }

    /// Returns the sets of modules that depend on each other, each with more than one module.
    pub fn knots(&self) -> Vec<Vec<usize>> {
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (node, component) in self.components().into_iter().enumerate() {
            groups.entry(component).or_default().push(node);
        }
        groups.into_values().filter(|group| group.len() > 1).collect()
    }

    /// Returns the cycles of a knot: for each edge the shortest cycle through it, without duplicates, shortest first.
    /// The first module is repeated at the end.
    pub fn cycles(&self, knot: &[usize]) -> Vec<Vec<usize>> {
        let mut cycles: BTreeSet<(usize, Vec<usize>)> = BTreeSet::new();
        for (from, to) in self.edges.keys() {
            if knot.contains(from)
                && knot.contains(to)
                && let Some(mut path) = self.shortest_path(*to, *from)
            {
                // Start at the smallest index, so that equal cycles compare equal.
                let start = (0..path.len()).min_by_key(|index| path[*index]).unwrap_or(0);
                path.rotate_left(start);
                path.push(path[0]);
                cycles.insert((path.len(), path));
            }
        }
        cycles.into_iter().map(|(_, cycle)| cycle).collect()
    }

    /// Returns the modules on a shortest path, with both ends.
    fn shortest_path(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let mut previous: BTreeMap<usize, usize> = BTreeMap::new();
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            if node == to {
                let mut path = vec![to];
                while let Some(before) = path.last().and_then(|last| previous.get(last)) {
                    path.push(*before);
                }
                path.reverse();
                return Some(path);
            }
            for next in self.successors(node) {
                if next != from && !previous.contains_key(&next) {
                    previous.insert(next, node);
                    queue.push_back(next);
                }
            }
        }
        None
    }

    /// Returns the layer of each module: the length of the longest path to a module without dependencies. Modules that
    /// depend on each other share a layer.
    pub fn layers(&self) -> Vec<usize> {
        let components = self.components();
        let mut layers = vec![None; self.modules.len()];
        (0..self.modules.len()).map(|node| self.layer(components[node], &components, &mut layers)).collect()
    }

    fn layer(&self, component: usize, components: &[usize], layers: &mut [Option<usize>]) -> usize {
        if let Some(layer) = layers[component] {
            return layer;
        }
        let members = (0..components.len()).filter(|node| components[*node] == component);
        let below: BTreeSet<usize> =
            members.flat_map(|node| self.successors(node)).map(|next| components[next]).collect();
        let below = below.into_iter().filter(|next| *next != component);
        let layer = below.map(|next| self.layer(next, components, layers) + 1).max().unwrap_or(0);
        layers[component] = Some(layer);
        layer
    }

    /// Returns the names of the modules of each layer, from bottom to top.
    pub fn named_layers(&self) -> Vec<Vec<&str>> {
        let layers = self.layers();
        let mut named = vec![Vec::new(); layers.iter().max().map_or(0, |top| top + 1)];
        for (node, layer) in self.modules.iter().zip(layers) {
            named[layer].push(node.name.as_str());
        }
        for names in &mut named {
            names.sort_unstable();
        }
        named
    }
}
