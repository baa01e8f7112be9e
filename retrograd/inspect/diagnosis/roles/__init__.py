"""What each leaf and each compared value of a program is: trained, frozen, unused, data, a target."""
