"""The forms of a report: text, JSON, SARIF, JUnit, annotations of GitHub Actions."""
