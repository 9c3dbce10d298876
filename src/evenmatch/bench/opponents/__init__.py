"""The other ways: plain transcriptions of the documents, and other people's libraries where they solve the same."""
