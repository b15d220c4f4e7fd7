"""The cases for agents, one module for each subject; `judge.agent_suite` loads them."""
