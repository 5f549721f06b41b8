"""Parts of publication (`pipeline.steps.publish`)."""
