"""Into how many levels to cut a continuous reward: quantisation against estimation."""
