"""Tools of the house: few, small."""
