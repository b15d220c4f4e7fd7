"""Whether two journals mean the same.

`diff.compare` reads two journals as `steps`, without what is excluded (`ignoring`). `values` finds
in them what each run has anew, as far as the table in `tolerances` lets it differ; `align` pairs
the steps; `difference` compares each pair, with the values that `id_map` has bound. Apart from
that, `likeness` says which of several recorded messages a live one is.
"""
