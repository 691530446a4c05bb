"""What a study's trials say: tables, sentences, reports. Pure functions of a space and its trials."""
