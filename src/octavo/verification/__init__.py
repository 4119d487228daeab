"""`octavo verify`: does training side by side give what each run gives by itself, and what plain PEFT gives?"""
