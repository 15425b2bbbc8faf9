"""Shared by all kernels: how they are compiled and cached, and the bundles of arrays that they take."""
