"""How to cite the data, the papers and this software; titles and authors as arXiv lists them."""

from __future__ import annotations

from dashboard import __version__

PAPER = """\
@article{suh2026sense7,
  title         = {{SENSE-7}: Taxonomy and Dataset for Measuring User Perceptions of Empathy
                   in Sustained Human-{AI} Conversations},
  author        = {Suh, Jina and Le, Lindy and Shayegani, Erfan and Ramos, Gonzalo and Amores, Judith
                   and Ong, Desmond C. and Czerwinski, Mary and Hernandez, Javier},
  journal       = {IEEE Transactions on Affective Computing},
  year          = {2026},
  eprint        = {2509.16437},
  archivePrefix = {arXiv}
}"""

DATA = """\
@misc{sense7data,
  title        = {{SENSE-7} dataset: 672 anonymised conversations with turn-by-turn ratings of perceived empathy},
  author       = {Suh, Jina and Le, Lindy and Shayegani, Erfan and Ramos, Gonzalo and Amores, Judith
                  and Ong, Desmond C. and Czerwinski, Mary and Hernandez, Javier},
  year         = {2025},
  howpublished = {GitHub repository microsoft/sense-7},
  note         = {CDLA-Permissive-2.0}
}"""

FOLLOW_UP = """\
@misc{shayegani2025adapters,
  title         = {From Measurement to Expertise: Empathetic Expert Adapters for Context-Based Empathy
                   in Conversational {AI} Agents},
  author        = {Shayegani, Erfan and Suh, Jina and Wilson, Andy and Rangan, Nagu and Hernandez, Javier},
  year          = {2025},
  eprint        = {2511.03143},
  archivePrefix = {arXiv}
}"""

SOFTWARE = f"""\
@software{{sense7dashboard,
  title   = {{{{SENSE-7}} dashboard: turn-by-turn ratings of perceived empathy, explored and checked}},
  author  = {{{{The SENSE-7 dashboard maintainers}}}},
  version = {{{__version__}}},
  license = {{GPL-3.0-or-later}}
}}"""
