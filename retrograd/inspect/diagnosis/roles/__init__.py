"""The role of each leaf and each compared value: trained, frozen, unused, data, a target."""
