"""Shapes, views, joining and splitting."""
