"""Annotation projects: ``discotree annotate``.

    project = Project.open("news.txt.annotation.jsonl")
    project.next("unsure")                             the number of the sentence to annotate next
    project.step(1, "accept", "Ann")                   saved on the disk when it returns
    write_accepted(project, "trees.export")            the trees that are accepted or corrected

``journal`` is the file, ``project`` the state that follows from it, and ``session`` an open project with its parser and
output, for the calls of the page (``web/endpoints.py``). ``invitations`` are the tokens with which annotators sign in.
"""
