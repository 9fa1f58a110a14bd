"""Scoring with ONNX Runtime: the network as a graph, built from settings and weights."""
