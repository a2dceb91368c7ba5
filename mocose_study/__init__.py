"""The study around `mocose_lib`: configs, data, systems, claims, runs, results."""
