"""Events, documents and things to bring, for conversations."""

from __future__ import annotations

from octavo.corpus.builtin.dice import pool

EVENTS = pool(
    """
    seed swap, chess evening, book sale, clothes swap, pottery class, bird walk, poetry reading, puppet
    show, jazz concert, film night, quiz night, bread baking course, bicycle repair day, toy market, choir
    rehearsal, street party, plant sale, first aid course, knitting circle, science fair, photo exhibition,
    stargazing evening, lantern walk, spring clean, tea tasting, drawing class, dance evening, board game
    night, garden tour, history talk, mushroom walk, sewing workshop, soup kitchen lunch, swimming gala,
    charity run, dress rehearsal, storytelling hour, kite festival, cheese tasting, coding club, language
    exchange, rowing regatta, beekeeping talk, harvest supper, wood carving class
    """,
    ",",
)

BRING = pool(
    """
    a cushion, a warm jacket, a mug, a pencil and paper, an old shirt, sturdy shoes, a torch, your own cup,
    a water bottle, a small snack, a towel, reading glasses, gloves, a reusable bag, a friend, a rain coat,
    a notebook, a folding chair, comfortable clothes, a lunch box
    """,
    ",",
)

DOCUMENTS = pool(
    """
    budget table, contract draft, delivery note, design sketch, exam timetable, feedback form, floor plan,
    grant application, guest list, insurance form, invoice, lab report, lesson plan, meeting notes, menu
    draft, monthly report, newsletter text, packing list, parts list, photo selection, press release, price
    list, project plan, registration form, rehearsal plan, rental agreement, repair estimate, risk
    assessment, safety checklist, sales figures, seating plan, shift plan, shopping list, signed receipt,
    slide deck, stock list, supplier list, survey results, tax form, test results, ticket order, time sheet,
    training plan, travel plan, user manual, volunteer list, wage slip, website text
    """,
    ",",
)
