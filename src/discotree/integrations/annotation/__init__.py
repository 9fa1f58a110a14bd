"""Annotate sentences: a journal on the disk, and all that is known from it.

    project = Project.open("news.txt.annotation.jsonl")
    project.next("unsure")                        the number of the sentence to look at
    project.step(AnnotationStep(1, "accept", "Ann"))        what somebody decided, on the disk when it returns
    write_finished(project, "trees.export")       the trees that are accepted or corrected

``journal`` is the file, ``lines`` what stands on its lines, ``state`` what follows from them, ``project`` what adds to
them. ``predicting`` reads and parses sentences in the background, ``scoring`` scores models on held-out trees,
``finished`` writes the result, and ``service`` is all of this for the page. Its calls are in ``integrations/web``.
"""
